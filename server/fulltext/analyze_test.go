package fulltext_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/settee-db/settee/server/servertest"
)

func TestAnalyze(t *testing.T) {
	s := servertest.New(t)
	for _, c := range []struct {
		path, body string
		status     int
		answer     string
	}{
		{"_search", `{"analyzer":"standard","text":"The Quick Ünit"}`, 200, `{"tokens":["quick","ünit"]}`},
		{"_search", `{"analyzer":"keyword","text":""}`, 200, `{"tokens":[""]}`},
		{"_search", `{"analyzer":{"name":"standard","stopwords":["quick"]},"text":"the quick"}`, 200,
			`{"tokens":["the"]}`},
		{"_search", `{"analyzer":{"name":"perfield","default":"english"},"text":"running"}`, 200, `{"tokens":["run"]}`},
		{"_search", `{"text":"a"}`, 400, `{"error":"bad_request","reason":"analyzer parameter is mandatory"}`},
		{"_search", `{"analyzer":"standard"}`, 400, `{"error":"bad_request","reason":"text parameter is mandatory"}`},
		{"_search", `{"analyzer":1,"text":"a"}`, 400,
			`{"error":"bad_request","reason":"analyzer parameter must be a string or an object"}`},
		{"_search", `{"analyzer":{},"text":"a"}`, 400,
			`{"error":"bad_request","reason":"analyzer parameter must be a string or an object"}`},
		{"_search", `{"analyzer":"standard","text":1}`, 400,
			`{"error":"bad_request","reason":"text parameter must be a string"}`},
		{"_search", `{"analyzer":"foo","text":"a"}`, 500, `{"error":"unknown_error","reason":"no_such_analyzer"}`},
		{"_search", `[]`, 400, `{"error":"bad_request","reason":"Request body must be a JSON object"}`},
		{"_search", `{"analyzer":"standard","text":"` + strings.Repeat("a", 1<<20+1) + `"}`, 400,
			`{"error":"bad_request","reason":"text parameter must not be longer than 1048576 bytes"}`},
		{"_nouveau", `{"analyzer":"standard","text":"The Quick"}`, 200, `{"tokens":["the","quick"]}`},
		{"_nouveau", `{"analyzer":"standard"}`, 400,
			`{"error":"bad_request","reason":"'text' and 'analyzer' fields must be non-empty strings"}`},
		{"_nouveau", `{"analyzer":"foo","text":"a"}`, 400,
			`{"error":"bad_request","reason":"foo is not a valid analyzer name"}`},
	} {
		w := s.Do("POST", "/"+c.path+"_analyze", c.body, "Content-Type", "application/json")
		servertest.Expect(t, w, c.status, c.answer+"\n")
	}
	servertest.Expect(t, s.Do("GET", "/_search_analyze?analyzer=whitespace&text=a+B", ""), 200, `{"tokens":["a","B"]}`+"\n")
	servertest.Expect(t, s.Do("GET", "/_search_analyze?analyzer=whitespace", ""), 400,
		`{"error":"bad_request","reason":"text parameter is mandatory"}`+"\n")
	for want, w := range map[int]*httptest.ResponseRecorder{
		405: s.Do("GET", "/_nouveau_analyze", ""),
		415: s.Do("POST", "/_search_analyze", `{}`, "Content-Type", "text/plain"),
		401: s.Anyone("POST", "/_nouveau_analyze", `{"analyzer":"standard","text":"a"}`, "Content-Type", "application/json"),
	} {
		if w.Code != want {
			t.Errorf("got %d %s, want %d", w.Code, w.Body, want)
		}
	}
}
