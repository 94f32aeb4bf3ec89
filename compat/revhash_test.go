package compat

import (
	"crypto/md5"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat/ejson"
)

func parseText(t testing.TB, text string, rules DocRules) (*Document, error) {
	t.Helper()
	v, err := ejson.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return ParseDocument(v, rules)
}

// edit is the revision of a document with inline attachments that are stored as they are, of a
// parent that it names or is given after it was read.
func edit(t testing.TB, parent, text string) string {
	t.Helper()
	d, err := parseText(t, text, DocRules{Edits: true})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var atts []RevAttachment
	for _, a := range d.Attachments {
		atts = append(atts, RevAttachment{Name: a.Name, Type: a.Type, MD5: md5.Sum(a.Data)})
	}
	rev := d.NewRev(atts)
	if parent != "" {
		named, err := parseText(t, `{"_rev":"`+parent+`",`+text[1:], DocRules{Edits: true})
		if err != nil {
			t.Fatal(err)
		}
		rev = named.NewRev(atts)
		d.Revs = RevPath{Start: rev.Pos - 1, IDs: []string{mustRev(t, parent).Hash}}
		if given := d.NewRev(atts); given != rev {
			t.Errorf("%s: %v with the parent given later, %v", text, given, rev)
		}
	}
	return rev.String()
}

func mustRev(t testing.TB, s string) Rev {
	t.Helper()
	if s == "" {
		return Rev{}
	}
	r, err := ParseRev(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestNewRevVectors checks the revisions that a CouchDB 3.5.0 gave to first edits.
func TestNewRevVectors(t *testing.T) {
	vectors, err := os.ReadFile("testdata/revisions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(vectors)) {
		want, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if want == "badarith" {
			if _, err := parseText(t, text, DocRules{Edits: true}); err != ErrBadArith {
				t.Errorf("%.80s: %v", text, err)
			}
			continue
		}
		if got := edit(t, "", text); got != want {
			t.Errorf("%.80s: %s, want %s", text, got, want)
		}
	}
}

func TestNewRevParents(t *testing.T) {
	tests := []struct{ parent, text, want string }{
		{"", `{"v":1}`, "1-7a7e4b29f3af401e69b6f86e4c26b727"},
		{"1-7a7e4b29f3af401e69b6f86e4c26b727", `{"v":2}`, "2-d0df861eb528e79690cd2ff3c4d394f3"},
		{"2-d0df861eb528e79690cd2ff3c4d394f3", `{"v":3}`, "3-c50a32451890a3f1c3e423334cc92745"},
		{"3-c50a32451890a3f1c3e423334cc92745", `{"_deleted":true}`, "4-13416768a6e759a01d9008048bb6aa8f"},
		{"4-13416768a6e759a01d9008048bb6aa8f", `{"v":5}`, "5-c321948f5a17418990d317538d48b0f2"},
		{"7-7a7e4b29f3af401e69b6f86e4c26b727", `{"v":2}`, "8-d521ee968cd0df558f161f4a184ad659"},
		{"1-23202479633c2b380f79507a776743d5", `{"_deleted":true}`, "2-b4e3122af5f2ab3ae9bbd74527a6aa04"},
		{"1-23202479633c2b380f79507a776743d5", `{"_deleted":true,"a":2}`, "2-9dd44c2ff54d6e5d3b7a3808022e32e9"},
		{"1-7a7e4b29f3af401e69b6f86e4c26b727", `{"_deleted":true}`, "2-d9b15b235a7d0afdfe6058d5fb8afbd1"},
		{"2-d9b15b235a7d0afdfe6058d5fb8afbd1", `{"v":2}`, "3-67738dadce07b296ee5510c66239e11b"},
		{"1-abc", `{"v":1}`, "2-faee4c0d7be6f35f158e17bb137f693c"},
		{"1-é", `{"v":1}`, "2-93f4a962e4ddf2eb498600ebc4edced6"},
		{"12-x", `{"v":1}`, "13-58a7e54124cf95b555fa3a60d10b6c30"},
		{"1-ABCDEF", `{"v":1}`, "2-198b064af9c4691b9f39372f5b8cc6f5"},
		{"1-00000000000000000000000000000000", `{"v":1}`, "2-11299489e706fa4b235483475eaaf581"},
	}
	for _, tt := range tests {
		if got := edit(t, tt.parent, tt.text); got != tt.want {
			t.Errorf("%s on %s: %s, want %s", tt.text, tt.parent, got, tt.want)
		}
	}
}

func TestNewRevAttachments(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"_attachments":{"f":{"content_type":"image/png","data":"aGVsbG8="}}}`, "1-9ed8abec5349d6abcce611dd3d1d9ad8"},
		{`{"_attachments":{"f":{"data":"aGVsbG8="}}}`, "1-1118a185107f48a409c2abcc3dbc5e8b"},
		{
			`{"_attachments":{"f":{"content_type":"application/octet-stream","data":"aGVsbG8="}}}`,
			"1-1118a185107f48a409c2abcc3dbc5e8b",
		},
		{`{"_attachments":{"g":{"content_type":"image/png","data":"aGVsbG8="}}}`, "1-ff71ef0a8042d5ecef59731ea19cf01c"},
		{`{"_attachments":{"f":{"content_type":"image/png","data":""}}}`, "1-36bf1e30b5a46afe34e9c5d1c0381a4a"},
		{
			`{"_attachments":{"f":{"content_type":"image/png","data":"b25l"},"g":{"content_type":"image/gif","data":"dHdv"}}}`,
			"1-190c897797540d4f4aa3c9d1f5dbe7da",
		},
		{
			`{"_attachments":{"g":{"content_type":"image/gif","data":"dHdv"},"f":{"content_type":"image/png","data":"b25l"}}}`,
			"1-5d0c8ffe533e83f2c7812842f71ac0ab",
		},
		{`{"_attachments":{"f":{"content_type":"image/x","data":"aGVsbG8="}}}`, "1-4a389db7570926c893fe50dee19e8f64"},
		{
			`{"_attachments":{"f":{"content_type":"image/x","data":"MQ=="},"g":{"content_type":"image/x","data":"Mg=="}}}`,
			"1-6012ddc9558949d3d76ac1176f1e7d0c",
		},
		{`{"_attachments":{"f":5,"g":{"data":"aGk="}}}`, "1-172a1e242df9cdfd0a56645189b15d6f"},
		{`{"_attachments":{"f":{"data":[],"data":"a Gk\n=\t"}}}`, "1-4a263374ab346affaec5c4432eec3b30"},
		{`{"_attachments":{"f":{"data":"aGl="}}}`, "1-4a263374ab346affaec5c4432eec3b30"},
	}
	for _, tt := range tests {
		if got := edit(t, "", tt.text); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.text, got, tt.want)
		}
	}
	// Of an attachment that is stored compressed the MD5 is that of the gzip bytes.
	empty, _ := parseText(t, `{}`, DocRules{Edits: true})
	for digest, want := range map[string]string{
		"88c6a20bcc2a885943d8d8cb4de9af09": "1-29e7ef48cefd8fd46bc4f3a5767e2434",
		"7029066c27ac6f5ef18d660d5741979a": "1-1d9d1517641dacfc5226bd85c95678d6",
	} {
		raw, _ := hex.DecodeString(digest)
		got := empty.NewRev([]RevAttachment{{Name: "f", Type: "text/plain", MD5: [16]byte(raw)}})
		if got.String() != want {
			t.Errorf("gzip %s: %s, want %s", digest, got, want)
		}
	}
}

func TestRecreatedRev(t *testing.T) {
	tombstone := mustRev(t, "2-d9b15b235a7d0afdfe6058d5fb8afbd1")
	tests := []struct {
		text        string
		attachments int
		want        string
	}{
		{`{"v":1}`, 0, "3-e42b6b0783ed526cfdf3a2e47333d5f3"},
		{`{}`, 1, "3-5839483656613799a067c2c792556eef"},
		{`{}`, 2, "3-850647d100a150c184a3226e83f61d2e"},
	}
	for _, tt := range tests {
		d, err := parseText(t, tt.text, DocRules{Edits: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.RecreatedRev(tombstone, tt.attachments); got.String() != tt.want {
			t.Errorf("%s with %d: %s, want %s", tt.text, tt.attachments, got, tt.want)
		}
	}
}

// TestByteLists checks both sides of the length at which Erlang stops to write a list of bytes as a
// string.
func TestByteLists(t *testing.T) {
	zeros := strings.Repeat("0,", 65535)
	if got := edit(t, "", `{"l":[`+zeros[:len(zeros)-1]+`]}`); got != "1-f720b3d5810ea354a9be9b2af9f04798" {
		t.Error(got)
	}
	if got := edit(t, "", `{"l":[`+zeros+`0]}`); got != "1-5f846debeaf58f8545c4d668d9adb7c4" {
		t.Error(got)
	}
}

func BenchmarkNewRev(b *testing.B) {
	text := `{"type":"post","body":"` + strings.Repeat("lorem ipsum ", 80) + `","n":3}`
	d, err := parseText(b, text, DocRules{Edits: true})
	if err != nil {
		b.Fatal(err)
	}
	parent, term := Rev{Pos: 3, Hash: "0123456789abcdef"}, d.Body.term()
	b.SetBytes(int64(len(term)))
	b.ReportAllocs()
	for b.Loop() {
		NewRev(parent, false, term, nil)
	}
}
