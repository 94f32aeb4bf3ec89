package call

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/settee-db/settee/compat"
)

// A page of any site can make a browser send some requests here, with the cookie or the password
// that the browser has for this server, and without asking first, as CORS has it for the others:
// GET, HEAD, and POST with a Content-Type that a form can have, or with none. Such a request
// changes nothing, whatever its handler would take. CouchDB leaves this to the Content-Type that
// most of its handlers want (chttpd:validate_ctype) and to the Referer of forms
// (couch_httpd:validate_referer); both checks are here as well, but some of its handlers, and most
// of those that only settee has, want neither.

var errCrossSite = compat.NewError(compat.KindForbidden,
	"A page of another site may not change anything here. Its origin has to be one of [cors] origins.")

// fromOtherSite reports, from what the client itself sent, whether a page of another site may have
// sent it.
func fromOtherSite(c *Call) bool {
	if c.originKnown {
		return c.crossSite
	}
	return c.isSimpleRequest() && c.isCrossSite()
}

// isSimpleRequest reports whether a browser sends the request to other sites without a preflight
// (https://fetch.spec.whatwg.org/#simple-header). Parameters of the Content-Type are not looked at:
// browsers differ in which of them they let pass, and so all count as simple.
func (h *Head) isSimpleRequest() bool {
	switch h.Request.Method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodPost:
		kind, _, _ := strings.Cut(h.Header("Content-Type"), ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain":
			return true
		}
	}
	return false
}

// isCrossSite reports whether the request says that it comes from a page of another origin, which
// CORS does not let in. Programs that are no browsers say nothing of the kind.
func (h *Head) isCrossSite() bool {
	if rules, _ := h.corsRules(); rules != nil {
		return false
	}
	switch site := h.Header("Sec-Fetch-Site"); site { // of newer browsers, where TLS or localhost lets them
	case "":
	case "same-origin", "none":
		return false
	default:
		return true
	}
	for _, name := range []string{"Origin", "Referer"} {
		if from := h.Header(name); from != "" {
			return !h.isOwnOrigin(from)
		}
	}
	// POST has an Origin in every browser. Another method may come from an image of any page, and
	// is one that changes something only if a rewrite function makes it one.
	return h.IdentifiedBy == "cookie" && h.Request.Method != http.MethodPost
}

// isOwnOrigin reports whether a URL is one of the host and port that the client sent the request
// to. Its scheme does not matter: a proxy may have taken TLS off.
func (h *Head) isOwnOrigin(from string) bool {
	u, err := url.Parse(from)
	if err != nil || u.Host == "" {
		return false
	}
	port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	same := func(host string) bool {
		return strings.EqualFold(strings.TrimSuffix(u.Host, port), strings.TrimSuffix(host, port))
	}
	return same(h.Request.Host) || same(h.clientHost())
}
