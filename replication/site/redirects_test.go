package site

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestKeepCredentials: headers go along within an origin; nothing that may be secret goes to
// another one, nor back from there, where the other one has chosen the path.
func TestKeepCredentials(t *testing.T) {
	var seen []http.Header
	var first, second *httptest.Server
	second = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header)
		http.Redirect(w, r, first.URL+"/end", http.StatusTemporaryRedirect)
	}))
	defer second.Close()
	first = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header)
		switch r.URL.Path {
		case "/begin":
			http.Redirect(w, r, "/middle", http.StatusTemporaryRedirect)
		case "/middle":
			http.Redirect(w, r, second.URL, http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		}
	}))
	defer first.Close()
	client := &http.Client{CheckRedirect: KeepCredentials}
	request, _ := http.NewRequest(http.MethodGet, first.URL+"/begin?token=x", nil)
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "X-Auth-CouchDB-Token", "Accept"} {
		request.Header.Set(name, "secret")
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if len(seen) != 4 {
		t.Fatal(len(seen), "requests")
	}
	for i, h := range seen {
		for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "X-Auth-CouchDB-Token"} {
			if has := h.Get(name) == "secret"; has != (i < 2) {
				t.Errorf("request %d: %s: %v", i, name, has)
			}
		}
		if h.Get("Accept") != "secret" || i > 1 && h.Get("Referer") != "" {
			t.Errorf("request %d: %v", i, h)
		}
	}
	if _, err := client.Get(first.URL + "/round"); err == nil {
		t.Error("redirections without end are followed")
	}
}
