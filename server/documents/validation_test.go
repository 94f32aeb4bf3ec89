package documents_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/js"
	"github.com/settee-db/settee/server/servertest"
)

// TestMain lets the test binary be the workers of JavaScript, too.
func TestMain(m *testing.M) {
	js.RunWorkerIfAsked()
	os.Exit(m.Run())
}

// TestValidationIsOrdered: a document that a function refuses is never stored after the function
// was.
func TestValidationIsOrdered(t *testing.T) {
	s := servertest.NewJS(t)
	var wait sync.WaitGroup
	stop := make(chan struct{})
	for w := range 4 {
		wait.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					s.Do("PUT", fmt.Sprintf("/db/w%d-%d", w, n), `{"bad":1}`)
				}
			}
		})
	}
	for round := range 5 {
		name := fmt.Sprint("v", round)
		s.PutDesign(name, `{"validate_doc_update":"function(n){ if (n.bad) throw {forbidden: 'no'}; }"}`)
		before := s.Do("GET", "/db", "").Body.String()
		time.Sleep(20 * time.Millisecond)
		require.Equal(t, counts(before), counts(s.Do("GET", "/db", "").Body.String()))
		require.Equal(t, 403, s.Do("PUT", "/db/x", `{"bad":1}`).Code)
		rev := servertest.ETag(s.Do("HEAD", "/db/_design/"+name, ""))
		require.Equal(t, 200, s.Do("DELETE", "/db/_design/"+name+"?rev="+strings.Trim(rev, `"`), "").Code)
		require.Equal(t, 201, s.Do("PUT", fmt.Sprint("/db/ok", round), `{"bad":1}`).Code)
	}
	close(stop)
	wait.Wait()
}

func counts(info string) string {
	_, rest, _ := strings.Cut(info, `"doc_count":`)
	count, _, _ := strings.Cut(rest, ",")
	return count
}

func TestValidationOfDatabaseRecreated(t *testing.T) {
	s := servertest.NewJS(t)
	s.PutDesign("v", `{"validate_doc_update":"function(n){ throw {forbidden: 'no'}; }"}`)
	require.Equal(t, 403, s.Do("PUT", "/db/a", `{}`).Code)
	require.Equal(t, 200, s.Do("DELETE", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db", "").Code)
	require.Equal(t, 201, s.Do("PUT", "/db/a", `{}`).Code)
}

// TestLineOfAttachmentEdits: a function sees the whole line of the revision where a request changes
// attachments only, as CouchDB has read the document then; of a document that comes with the
// request it sees what came.
func TestLineOfAttachmentEdits(t *testing.T) {
	s := servertest.NewJS(t)
	require.Equal(t, 201, s.Do("PUT", "/db/doc", `{"_attachments":{"a":{"data":""}}}`).Code)
	revision := func() string { return strings.Trim(servertest.ETag(s.Do("HEAD", "/db/doc", "")), `"`) }
	require.Equal(t, 201, s.Do("PUT", "/db/doc", `{"_rev":"`+revision()+`","_attachments":{"a":{"stub":true}}}`).Code)
	s.PutDesign("v", `{"validate_doc_update":"function(n){ throw {forbidden: n._revisions.ids.length} }"}`)
	rev := revision()
	form := "--XX\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n--XX--"
	formType := []string{"Content-Type", "multipart/form-data; boundary=XX", "Referer", "http://example.com/"}
	for _, test := range []struct {
		method, path, body string
		header             []string
		want               string
	}{
		{"PUT", "/db/doc/a?rev=" + rev, "x", nil, "2"},
		{"PUT", "/db/doc/b?rev=" + rev, "x", nil, "2"},
		{"DELETE", "/db/doc/a?rev=" + rev, "", nil, "2"},
		{"POST", "/db/doc", fmt.Sprintf(form, "_rev", rev), formType, "2"},
		{"POST", "/db/doc", fmt.Sprintf(form, "_doc", `{"_rev":"`+rev+`"}`), formType, "1"},
		{"PUT", "/db/doc", `{"_rev":"` + rev + `"}`, nil, "1"},
		{"COPY", "/db/doc", "", []string{"Destination", "doc?rev=" + rev}, "1"},
	} {
		w := s.Do(test.method, test.path, test.body, test.header...)
		require.Equal(t, 403, w.Code, "%s %s: %s", test.method, test.path, w.Body)
		want := `{"error":"forbidden","reason":` + test.want + "}\n"
		require.Equal(t, want, w.Body.String(), "%s %s", test.method, test.path)
	}
}
