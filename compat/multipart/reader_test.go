package multipart

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/settee-db/settee/compat"
	"pgregory.net/rapid"
)

// onlyRead hides every method but Read.
type onlyRead struct{ io.Reader }

func relatedBody(t testing.TB, contentType, body string, slow bool) *RelatedReader {
	t.Helper()
	var src io.Reader = strings.NewReader(body)
	if slow {
		src = iotest.OneByteReader(src)
	}
	r, err := NewRelatedReader(contentType, src)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readRelated gives document and attachments, or the first error.
func readRelated(r *RelatedReader, lengths []int64) (document string, attachments []string, err error) {
	part, err := r.Document()
	if err != nil {
		return "", nil, err
	}
	json, err := io.ReadAll(part)
	if err != nil {
		return "", nil, err
	}
	for _, n := range lengths {
		content, err := io.ReadAll(r.Attachment(n))
		if err != nil {
			return string(json), attachments, err
		}
		attachments = append(attachments, string(content))
	}
	return string(json), attachments, r.Finish()
}

const jsonPart = "--BB\r\nContent-Type: application/json\r\n\r\n{}\r\n--BB"

func TestRelatedReader(t *testing.T) {
	for _, test := range []struct {
		name, contentType, body string
		lengths                 []int64
		want                    string // document|attachments
		err                     error
	}{
		{name: "one attachment", body: jsonPart + "\r\n\r\nhello\r\n--BB--", lengths: []int64{5}, want: "{}|hello"},
		{name: "headers do not count", body: jsonPart + "\r\nContent-Length: 99\r\nX: y\r\n\r\nhello\r\n--BB--", lengths: []int64{5}, want: "{}|hello"},
		{
			name: "empty first", body: jsonPart + "\r\n\r\n\r\n--BB\r\n\r\nhi\r\n--BB--",
			lengths: []int64{0, 2}, want: "{}||hi",
		},
		{
			name: "empty last", body: jsonPart + "\r\n\r\nhi\r\n--BB\r\n\r\n\r\n--BB--",
			lengths: []int64{2, 0}, want: "{}|hi|",
		},
		{name: "shorter", body: jsonPart + "\r\n\r\nhell\r\n--BB--", lengths: []int64{5}, err: ErrAttachmentShorter},
		{
			name: "longer", body: jsonPart + "\r\n\r\nhello world\r\n--BB--",
			lengths: []int64{5}, err: ErrAttachmentLonger,
		},
		{
			name: "a part is missing", body: jsonPart + "\r\n\r\nhello\r\n--BB--",
			lengths: []int64{5, 3}, err: ErrAttachmentShorter,
		},
		{name: "a part too many", body: jsonPart + "\r\n\r\nhello\r\n--BB\r\n\r\nextra\r\n--BB--", lengths: []int64{5}, want: "{}|hello"},
		{name: "over two parts", body: jsonPart + "\r\n\r\nhel\r\n--BB\r\n\r\nlo\r\n--BB--", lengths: []int64{5}, want: "{}|hello"},
		{name: "no attachment", body: jsonPart + "--", want: "{}"},
		{name: "preamble and epilogue", body: "preamble\r\n" + jsonPart + "\r\n\r\nhello\r\n--BB--\r\nepilogue", lengths: []int64{5}, want: "{}|hello"},
		{name: "boundary in the content", body: jsonPart + "\r\n\r\n--BB\r\n-\r\n--BB--", lengths: []int64{7}, want: "{}|--BB\r\n-"},
		{name: "charset", body: strings.Replace(jsonPart, "json", "json; charset=utf-8", 1) + "--", want: "{}"},
		{name: "quoted boundary", contentType: `multipart/related; type="application/json"; boundary="x-Y_9"`, body: strings.ReplaceAll(jsonPart, "BB", "x-Y_9") + "--", want: "{}"},
		{name: "bare boundary", contentType: "multipart/related; boundary=x-Y_9", body: strings.ReplaceAll(jsonPart, "BB", "x-Y_9") + "--", want: "{}"},
		{
			name: "not JSON", body: strings.Replace(jsonPart, "application/json", "text/plain", 1) + "--",
			err: compat.KindBadContentType,
		},
		{name: "no type", body: "--BB\r\n\r\n{}\r\n--BB--", err: compat.KindBadContentType},
		{name: "bad header", body: "--BB\r\nx\r\n\r\n{}\r\n--BB--", err: ErrBadPartHeader},
		{
			name: "endless header", body: "--BB\r\nx: " + strings.Repeat("y", 100000) + "\r\n\r\n{}\r\n--BB--",
			err: ErrBadPartHeader,
		},
		{name: "wrong boundary", body: strings.ReplaceAll(jsonPart, "BB", "QQ") + "--", err: ErrTruncated},
		{name: "empty", err: ErrTruncated},
		{name: "closing boundary only", body: "--BB--", err: ErrTruncated},
		{name: "truncated header", body: "--BB\r\nContent-Type", err: ErrTruncated},
		{name: "truncated JSON", body: "--BB\r\nContent-Type: application/json\r\n\r\n{", err: ErrTruncated},
		{name: "truncated attachment", body: jsonPart + "\r\n\r\nhel", lengths: []int64{5}, err: ErrTruncated},
		{name: "truncated boundary", body: jsonPart + "\r\n\r\nhello\r\n--B", lengths: []int64{5}, err: ErrTruncated},
		{name: "truncated end", body: jsonPart + "\r\n\r\nhello\r\n--BB-", lengths: []int64{5}, err: ErrTruncated},
	} {
		for _, slow := range []bool{false, true} {
			contentType := test.contentType
			if contentType == "" {
				contentType = "multipart/related;boundary=\"BB\""
			}
			document, attachments, err := readRelated(relatedBody(t, contentType, test.body, slow), test.lengths)
			got := strings.Join(append([]string{document}, attachments...), "|")
			if !errors.Is(err, test.err) || (test.err == nil && got != test.want) {
				t.Errorf("%s: got %q, %v", test.name, got, err)
			}
		}
	}
	if _, err := NewRelatedReader("multipart/related; type=x", nil); !errors.Is(err, ErrNoBoundary) {
		t.Error(err)
	}
}

func TestReaderPassesErrors(t *testing.T) {
	src := io.MultiReader(strings.NewReader(jsonPart+"\r\n\r\nhel"), iotest.ErrReader(io.ErrUnexpectedEOF))
	r, err := NewRelatedReader("multipart/related;boundary=BB", onlyRead{src})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := readRelated(r, []int64{5}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

func TestStalePart(t *testing.T) {
	m := NewReader(strings.NewReader("--B\r\n\r\none\r\n--B\r\n\r\ntwo\r\n--B--"), "B")
	first, err := m.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.NextPart(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// TestMultipartRoundTrip writes documents as answers and reads them back, nested parts included.
func TestMultipartRoundTrip(t *testing.T) {
	content := rapid.Custom(func(t *rapid.T) string {
		pieces := rapid.SliceOfN(
			rapid.SampledFrom(
				[]string{"\r\n", "--", "\r\n--", "outer", "inner", "\r", "x", strings.Repeat("y", 20000)},
			),
			0,
			12,
		)
		return strings.Join(pieces.Draw(t, "pieces"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		document := rapid.Custom(
			func(t *rapid.T) []string { return rapid.SliceOfN(content, 0, 3).Draw(t, "attachments") },
		)
		documents := rapid.SliceOfN(document, 0, 3).Draw(t, "documents")
		var out bytes.Buffer
		w := NewOpenRevsWriter(&out, "OUTER0", "INNER0")
		for _, attachments := range documents {
			if err := w.Document([]byte(`{"_id":"a"}`), partsOf(attachments)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		m := NewReader(&out, "OUTER0")
		for _, attachments := range documents {
			part, err := m.NextPart()
			if err != nil {
				t.Fatal(err)
			}
			checkDocument(t, part, attachments)
		}
		if _, err := m.NextPart(); err != io.EOF {
			t.Fatal(err)
		}
	})
}

func partsOf(attachments []string) []AttachmentPart {
	parts := make([]AttachmentPart, len(attachments))
	for i, text := range attachments {
		parts[i] = AttachmentPart{Name: "n", Type: "t/t", Length: int64(len(text)), Content: func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		}}
	}
	return parts
}

func checkDocument(t *rapid.T, part *Part, attachments []string) {
	if len(attachments) == 0 {
		if got, err := io.ReadAll(part); err != nil || string(got) != `{"_id":"a"}` ||
			part.Header.MediaType().Name != "application/json" {
			t.Fatalf("got %q, %v", got, err)
		}
		return
	}
	r, err := NewRelatedReader(part.Header.Get("content-type"), part)
	if err != nil {
		t.Fatal(err)
	}
	var lengths []int64
	for _, text := range attachments {
		lengths = append(lengths, int64(len(text)))
	}
	_, got, err := readRelated(r, lengths)
	if err != nil || strings.Join(got, "|") != strings.Join(attachments, "|") {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestParseMediaType(t *testing.T) {
	m := compat.ParseMediaType(`Multipart/Form-Data;b=;cgi="i\s;Broken=true"e;=z;z; boundary="a\"b" ;boundary=c`)
	if m.Name != "multipart/form-data" {
		t.Error(m.Name)
	}
	for name, want := range map[string]string{"b": "", "cgi": "is", "broken": `true"e`, "boundary": `a"b`} {
		if got, ok := m.Param(name); !ok || got != want {
			t.Errorf("%s: got %q %v", name, got, ok)
		}
	}
	if _, ok := m.Param("z"); ok || compat.ParseMediaType(" ;;").Name != "" {
		t.Error("a parameter without value, or a name from nothing")
	}
}

func FuzzMultipart(f *testing.F) {
	f.Add("multipart/related;boundary=BB", []byte(jsonPart+"\r\n\r\nhello\r\n--BB--"), int64(5))
	f.Add("multipart/related;boundary=", []byte("--\r\n\r\n\r\n----"), int64(0))
	f.Fuzz(func(t *testing.T, contentType string, body []byte, length int64) {
		if length < 0 {
			return
		}
		read := func(src io.Reader) (string, []string, error) {
			r, err := NewRelatedReader(contentType, src)
			if err != nil {
				return "", nil, err
			}
			return readRelated(r, []int64{length, 1})
		}
		d1, a1, err1 := read(bytes.NewReader(body))
		d2, a2, err2 := read(iotest.OneByteReader(bytes.NewReader(body)))
		if d1 != d2 || strings.Join(a1, "|") != strings.Join(a2, "|") || (err1 == nil) != (err2 == nil) {
			t.Fatalf("depends on how the body arrives: %q %q %v, %q %q %v", d1, a1, err1, d2, a2, err2)
		}
	})
}

func BenchmarkMultipartRead(b *testing.B) {
	content := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	body := append(append([]byte(jsonPart+"\r\n\r\n"), content...), "\r\n--BB--"...)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	buf := make([]byte, 64<<10)
	for b.Loop() {
		r, err := NewRelatedReader("multipart/related;boundary=BB", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Document(); err != nil {
			b.Fatal(err)
		}
		if n, err := io.CopyBuffer(io.Discard, onlyRead{r.Attachment(int64(len(content)))}, buf); err != nil ||
			n != int64(len(content)) {
			b.Fatal(n, err)
		}
	}
}
