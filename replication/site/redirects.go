package site

import (
	"errors"
	"net/http"

	"github.com/settee-db/settee/compat"
)

// maxRedirections is how many redirections a request follows, as in net/http.
const maxRedirections = 10

var errRedirections = errors.New("stopped after 10 redirections")

// KeepCredentials is an http.Client's CheckRedirect that leaves out, once a redirection has led to
// another origin, all headers of the first request but those that tell of the body and of what is
// wanted. net/http leaves out less: it takes a host with another port, or below it, for the same
// one, and knows few headers that are secret.
func KeepCredentials(request *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirections {
		return errRedirections
	}
	same := true
	for _, other := range append(via[1:len(via):len(via)], request) {
		same = same && compat.SameOrigin(via[0].URL, other.URL)
	}
	if same {
		return nil
	}
	kept := make(http.Header)
	for _, name := range []string{"Accept", "Accept-Language", "Content-Encoding", "Content-Type", "User-Agent"} {
		if values := request.Header.Values(name); len(values) > 0 {
			kept[name] = values
		}
	}
	request.Header = kept
	return nil
}
