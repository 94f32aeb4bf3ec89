package compat

import (
	"bytes"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
)

// TestParseLargeDocuments: other documents are in testdata/cases/documents.
func TestParseLargeDocuments(t *testing.T) {
	huge := "1" + strings.Repeat("0", 320)
	rules := DocRules{IDs: IDRules{MaxLength: 20}, MaxSize: 100, MaxAttachmentSize: 10, Edits: true}
	tests := []struct{ text, want string }{
		{`{"n":` + huge + `,"_foo":1}`, "doc_validation: Bad special document member: _foo"},
		{`{"n":` + huge + `,"_id":"a"}`, "unknown_error: badarith"},
		{`{"_id":"a","n":"` + strings.Repeat("x", 93) + `"}`, "document_too_large: a"},
		{`{"n":"` + strings.Repeat("x", 93) + `"}`, "document_too_large"},
	}
	for _, tt := range tests {
		if _, err := parseText(t, tt.text, rules); err == nil || err.Error() != tt.want {
			t.Errorf("%.80s: %v, want %s", tt.text, err, tt.want)
		}
	}
	stub := `{"_attachments":{"f":{"stub":true,"encoding":"br"}}}`
	if _, err := parseText(t, stub, rules); err != nil {
		t.Error(err)
	}
	partitioned := DocRules{IDs: IDRules{Partitioned: true}}
	if _, err := parseText(t, `{"_id":"a"}`, partitioned); err == nil ||
		err.Error() != "illegal_docid: Doc id must be of form partition:id" {
		t.Error(err)
	}
	if _, err := parseText(t, `{}`, partitioned); err != nil {
		t.Error(err)
	}
}

func TestParseDeletedDocument(t *testing.T) {
	d, err := parseText(t, `{"_deleted":true,"_id":"\u0061b"}`, DocRules{})
	if err != nil || !d.Deleted || d.ID != "ab" || !d.HasID {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestParseAttachments(t *testing.T) {
	d, err := parseText(t, `{"_attachments":{
		"inline":{"data":"aGk=","content_type":"text/plain","digest":"md5-zz","length":"x","revpos":3},
		"stub":{"stub":true,"revpos":2,"digest":"md5-SfaKXIST7CwL9ImCHCH8Ow==","length":5},
		"bare":{"stub":true,"content_type":5},
		"follows":{"follows":true,"length":7,"encoding":"gzip","encoded_length":3,"content_type":"a/b"},
		"number":1,
		"odd":{"stub":"true","data":"","revpos":"x"}}}`, DocRules{})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Attachments) != 5 || !d.HasStubs() {
		t.Fatalf("%+v", d.Attachments)
	}
	inline, stub, bare := d.Attachments[0], d.Attachments[1], d.Attachments[2]
	follows, odd := d.Attachments[3], d.Attachments[4]
	if inline.Source != SourceInline || string(inline.Data) != "hi" || inline.Type != "text/plain" ||
		inline.HasDigest ||
		inline.Length != 2 ||
		inline.RevPos != 3 {
		t.Errorf("inline %+v", inline)
	}
	if stub.Source != SourceStub || stub.RevPos != 2 || !stub.HasRevPos || !stub.HasDigest || stub.Digest[0] != 0x49 ||
		stub.Length != 5 ||
		stub.EncodedLength != 5 {
		t.Errorf("stub %+v", stub)
	}
	if bare.Source != SourceStub || bare.HasRevPos || bare.HasDigest || bare.Length != -1 {
		t.Errorf("bare %+v", bare)
	}
	if follows.Source != SourceFollows || follows.Length != 7 || follows.EncodedLength != 3 ||
		follows.Encoding != EncodingGzip {
		t.Errorf("follows %+v", follows)
	}
	if odd.Source != SourceInline || odd.Type != DefaultContentType || odd.RevPos != -1 || len(odd.Data) != 0 {
		t.Errorf("odd %+v", odd)
	}
	if err := d.ValidateAttachmentNames(); err != nil {
		t.Error(err)
	}
	d.Attachments[4].Name = "_x"
	if err := d.ValidateAttachmentNames(); err == nil {
		t.Error("_x is accepted")
	}
}

func FuzzParseDocument(f *testing.F) {
	for _, seed := range []string{
		`{"_id":"a","_rev":"1-a","v":[1,2.5,{"x":null}],"_deleted":true}`,
		`{"_revisions":{"start":2,"ids":["967a00dff5e02add41819138abb3284d","x"]},"_attachments":{"f":{"data":"aGk=","content_type":"a/b"},"g":{"stub":true}}}`,
		`{"_access":[],"a":1,"a":2,"\u005fid":"é"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := ejson.Parse(text)
		if err != nil {
			return
		}
		d, err := ParseDocument(v, DocRules{Edits: true})
		if err != nil {
			if _, ok := AsError(err); !ok {
				t.Errorf("%v has no wire form", err)
			}
			return
		}
		body, err := ejson.Parse(d.Body.JSON)
		if err != nil || !body.Canonical() && len(d.Body.JSON) > 2 {
			t.Fatalf("body %q: %v", d.Body.JSON, err)
		}
		if size, err := body.EncodedSize(); err != nil || size != d.Body.Size {
			t.Errorf("size %d, want %d, %v", d.Body.Size, size, err)
		}
		if term := body.AppendTerm(nil); !bytes.Contains(d.Body.term(), negativeZero) {
			if !bytes.Equal(term, d.Body.term()) {
				t.Errorf("term %x, want %x", d.Body.term(), term)
			}
			if rev := NewRev(d.Rev(), d.Deleted, term, nil); rev != d.NewRev(nil) {
				t.Errorf("the edit makes %v, want %v", d.NewRev(nil), rev)
			}
			again, _ := ParseDocument(v, DocRules{Edits: true, AnyParent: true})
			if !bytes.Equal(again.Body.Term, term) {
				t.Errorf("term %x, want %x", again.Body.Term, term)
			}
		}
		checkRendering(t, d)
	})
}

// checkRendering renders what was parsed, parses it again and compares.
func checkRendering(t *testing.T, d *Document) {
	view := DocumentView{ID: "id", Rev: d.Rev(), Body: d.Body.JSON, Deleted: d.Deleted, Revisions: d.Revs}
	if d.HasID {
		view.ID = d.ID
	}
	for i := range d.Attachments {
		view.Attachments = append(
			view.Attachments,
			AttachmentView{Attachment: &d.Attachments[i], Form: FormData, Content: d.Attachments[i].Data},
		)
	}
	text := AppendDocument(nil, &view)
	v, err := ejson.Parse(text)
	if err != nil || !v.Canonical() {
		t.Fatalf("rendered %q: %v", text, err)
	}
	again, err := ParseDocument(v, DocRules{})
	if err != nil {
		t.Fatalf("rendered %q: %v", text, err)
	}
	if again.ID != view.ID || again.Rev() != d.Rev() || again.Deleted != d.Deleted ||
		!bytes.Equal(again.Body.JSON, d.Body.JSON) ||
		len(again.Attachments) != len(d.Attachments) {
		t.Errorf("%q is %+v, was %+v", text, again, d)
	}
}

func BenchmarkParseDocument(b *testing.B) {
	text := []byte(
		`{"_id":"mydoc","_rev":"3-967a00dff5e02add41819138abb3284d","type":"post","title":"A title","tags":["a","b","c"],"n":3,"rating":4.5,"author":{"name":"x","mail":"x@example.com"},"text":"` + strings.Repeat(
			"lorem ipsum dolor sit amet ",
			28,
		) + `"}`,
	)
	p := ejson.AcquireParser()
	defer p.Release()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		v, err := p.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		d, err := ParseDocument(v, DocRules{Edits: true, MaxSize: 8_000_000})
		if err != nil {
			b.Fatal(err)
		}
		d.NewRev(nil)
	}
}

// What is printed otherwise than it was read still makes the revision of what was read.
func TestRevisionOfNumbersThatArePrintedOtherwise(t *testing.T) {
	tombstone := Rev{Pos: 2, Hash: "0123456789abcdef"}
	for _, text := range []string{`{"a":-0.0}`, `{"a":4.9e-324}`, `{"a":[1,-3.0e-322]}`} {
		read, err := parseText(t, text, DocRules{Edits: true})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := parseText(t, text, DocRules{Edits: true, AnyParent: true})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := read.RecreatedRev(tombstone, 0), RecreatedRev(tombstone, whole.Body.Term, 0); got != want {
			t.Errorf("%s over a tombstone: %v, want %v", text, got, want)
		}
	}
}

// What is stored as CouchDB 3.5.0 printed it is the same number, and makes the same revisions.
func TestBodyOfNumbersPrintedBefore(t *testing.T) {
	stored := `{"a":5e-324,"b":-3e-322,"c":1000.0,"d":100000000000000000000.0,"e":1.5e+21,"f":0.00001}`
	read, err := parseText(t, stored, DocRules{Edits: true, AnyParent: true})
	if err != nil {
		t.Fatal(err)
	}
	body, err := NewBody([]byte(stored))
	want := `{"a":5.0e-324,"b":-3.0e-322,"c":1.0e3,"d":1.0e20,"e":1.5e21,"f":1.0e-5}`
	if err != nil || string(body.JSON) != want || !bytes.Equal(body.Term, read.Body.Term) {
		t.Errorf("%s was read as %s, %v", stored, body.JSON, err)
	}
}
