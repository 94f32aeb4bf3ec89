package documents

import (
	"errors"
	"strings"
	"testing"

	"github.com/settee-db/settee/compat"
)

const formType = "multipart/form-data; boundary=XX"

func TestReadDocForm(t *testing.T) {
	body := "--XX\r\nContent-Disposition: form-data; name=\"_rev\"\r\n\r\n1-a\r\n" +
		"--XX\r\nContent-Disposition: form-data; name=\"_attachments\"; filename=\"f.txt\"\r\nContent-Type: Image/X; a=b\r\n\r\nhello\r\n" +
		"--XX\r\nContent-Disposition: form-data; name=\"other\"; filename=\"x\"\r\n\r\nx\r\n" +
		"--XX\r\nContent-Disposition: form-data; name=\"_attachments\"; filename=\"g\"\r\n\r\n\r\n--XX--\r\n"
	form, err := readDocForm(formType, strings.NewReader(body), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if form.HasDoc || form.Rev != "1-a" || len(form.Files) != 2 {
		t.Fatalf("%+v", form)
	}
	if f := form.Files[0]; f.Name != "f.txt" || f.Type != "image/x" || string(f.Data) != "hello" {
		t.Errorf("%+v", f)
	}
	if f := form.Files[1]; f.Name != "g" || f.Type != "application/octet-stream" || len(f.Data) != 0 {
		t.Errorf("%+v", f)
	}
	form, err = readDocForm(
		formType,
		strings.NewReader("--XX\r\nContent-Disposition: form-data; name=\"_doc\"\r\n\r\n{}\r\n--XX--"),
		2,
	)
	if err != nil || !form.HasDoc || string(form.Doc) != "{}" {
		t.Errorf("%+v, %v", form, err)
	}
}

func TestReadDocFormErrors(t *testing.T) {
	for _, test := range []struct {
		contentType, body string
		kind              compat.Kind
	}{
		{"text/plain", "", compat.KindBadContentType},
		{"multipart/form-data", "", compat.KindBadRequest},
		{formType, "", compat.KindBadRequest},
		{formType, "--XX\r\nContent-Disposition: form-data; name=\"_doc\"\r\n\r\n{", compat.KindBadRequest},
		{formType, "--XX\r\nContent-Disposition: form-data; name=\"_doc\"\r\n\r\n{  }\r\n--XX--", compat.KindRequestTooLarge},
	} {
		if _, err := readDocForm(test.contentType, strings.NewReader(test.body), 3); !errors.Is(err, test.kind) {
			t.Errorf("%s %q: got %v", test.contentType, test.body, err)
		}
	}
}

func TestCheckReferer(t *testing.T) {
	for referer, want := range map[string]string{
		"http://h:1/x?y": "",
		"https://h:1":    "",
		"":               "bad_request Referer header required.",
		"http://other/":  "bad_request Referer header must match host.",
		"h:1":            "bad_request Referer header must match host.",
	} {
		got := ""
		if e, ok := compat.AsError(checkReferer(referer, "h:1")); ok {
			got = e.Word() + " " + e.Reason
		}
		if got != want {
			t.Errorf("%q: got %q", referer, got)
		}
	}
}

func FuzzReadDocForm(f *testing.F) {
	f.Add(formType, "--XX\r\nContent-Disposition: form-data; name=\"_doc\"\r\n\r\n{}\r\n--XX--")
	f.Fuzz(func(t *testing.T, contentType, body string) {
		if _, err := readDocForm(contentType, strings.NewReader(body), 100); err != nil {
			if _, ok := compat.AsError(err); !ok {
				t.Fatalf("not an Error: %v", err)
			}
		}
	})
}
