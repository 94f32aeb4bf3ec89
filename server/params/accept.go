package params

import (
	"strings"

	"github.com/settee-db/settee/compat"
)

// Accept is a parsed Accept or Accept-Encoding header. The zero Accept takes nothing.
type Accept []acceptItem

type acceptItem struct {
	name string // lower case; parameters other than q stay with it: `text/plain;level=1`
	q    int    // thousandths
}

// ParseAccept reads an Accept header; an absent one (present false) takes everything. A header that
// is not well formed takes nothing, so that the answer is plain JSON, where CouchDB fails with a
// 500 (mochiweb_util:parse_qvalues).
func ParseAccept(header string, present bool) Accept {
	if !present {
		header = "*/*"
	}
	a, _ := parseQValues(header)
	return a
}

// Takes reports whether a media type, in lower case and without blanks, may be answered: it, its
// `main/*` or `*/*` is listed with q above 0, and neither it nor its `main/*` with q=0
// (mochiweb_request:accepts_content_type).
func (a Accept) Takes(mediaType string) bool {
	main, _, _ := strings.Cut(mediaType, "/")
	takes := false
	for _, item := range a {
		own := item.name == mediaType || item.name == main+"/*"
		switch {
		case own && item.q == 0:
			return false
		case item.q > 0 && (own || item.name == "*/*"):
			takes = true
		}
	}
	return takes
}

// BulkGetMultipart reports whether POST _bulk_get answers with a multipart body, and with which
// media type: only if JSON is not taken, and then multipart/mixed before multipart/related
// (chttpd_db:bulk_get_is_multipart).
func (a Accept) BulkGetMultipart() (mediaType string, ok bool) {
	switch {
	case a.Takes("application/json"):
		return "", false
	case a.Takes("multipart/mixed"):
		return "multipart/mixed", true
	case a.Takes("multipart/related"):
		return "multipart/related", true
	}
	return "", false
}

// WantsLoginPage reports whether a 401 becomes a redirect to the login page: text/html is taken and
// JSON is not (chttpd:error_headers).
func (a Accept) WantsLoginPage() bool {
	return !a.Takes("application/json") && a.Takes("text/html")
}

// AcceptsGzip tells from an Accept-Encoding header (empty when absent) whether a stored gzip stream
// may be sent as it is. A header that is not well formed is an error, and so is one that refuses
// both gzip and identity (couch_httpd:accepted_encodings, mochiweb_util:pick_accepted_encodings).
func AcceptsGzip(header string) (bool, error) {
	items, ok := parseQValues(header)
	if !ok {
		return false, compat.NewError(compat.KindBadRequest, "bad_accept_encoding_value")
	}
	gzip, identity := items.encoding("gzip"), items.encoding("identity")
	if !gzip.taken && identity.refused {
		return false, compat.NewError(compat.KindNotAcceptable, "unacceptable_encoding")
	}
	return gzip.taken, nil
}

type encodingChoice struct{ taken, refused bool }

// encoding returns what the header says of an encoding. "*" stands for it unless the encoding is
// named with the opposite weight; both results are false if neither occurs.
func (a Accept) encoding(name string) encodingChoice {
	var named, any encodingChoice
	for _, item := range a {
		switch item.name {
		case name:
			named.taken = named.taken || item.q > 0
			named.refused = named.refused || item.q == 0
		case "*":
			any.taken = any.taken || item.q > 0
			any.refused = any.refused || item.q == 0
		}
	}
	refused := named.refused || (any.refused && !named.taken)
	return encodingChoice{taken: !refused && (named.taken || any.taken), refused: refused}
}

// parseQValues reads a list of names with optional weights (mochiweb_util:parse_qvalues): names and
// parameters in lower case, every parameter must be `a=b`, the weight has at most three decimals
// and is at most 1; what stands after the weight is not looked at.
func parseQValues(header string) (Accept, bool) {
	var items Accept
	for pair := range strings.SplitSeq(strings.ToLower(header), ",") {
		if pair == "" {
			continue
		}
		parts := strings.FieldsFunc(pair, func(r rune) bool { return r == ';' })
		if len(parts) == 0 {
			return nil, false
		}
		item := acceptItem{name: strings.Trim(parts[0], " "), q: 1000}
		for i, part := range parts[1:] {
			part = strings.Join(strings.Fields(part), "")
			name, value, found := strings.Cut(part, "=")
			if !found || name == "" || value == "" || strings.Contains(value, "=") {
				return nil, false
			}
			if name != "q" {
				item.name += ";" + part
				continue
			}
			q, ok := parseWeight(value)
			if !ok {
				return nil, false
			}
			item.q = q
			for _, rest := range parts[i+2:] {
				item.name += ";" + strings.Join(strings.Fields(rest), "")
			}
			break
		}
		items = append(items, item)
	}
	return items, true
}

// parseWeight reads 0, 1 or one to three decimals after them, as thousandths.
func parseWeight(s string) (int, bool) {
	if s[0] != '0' && s[0] != '1' {
		return 0, false
	}
	q := 1000 * int(s[0]-'0')
	if len(s) == 1 {
		return q, true
	}
	if s[1] != '.' || len(s) < 3 || len(s) > 5 {
		return 0, false
	}
	unit := 100
	for i := 2; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		q += unit * int(s[i]-'0')
		unit /= 10
	}
	return q, q <= 1000
}
