package params

import (
	"strings"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/documents"
)

// Names and values of the options of documents are case-sensitive and unknown ones are ignored;
// booleans act on the exact value `true` only, and any one of several counts (#doc_query_args).
type documentOptions struct {
	documents.ReadOptions
	keepRev bool // `new_edits=false`; of `true` and `false` the last counts
}

// ReadDocument reads the query of a GET of a document or an attachment (chttpd_db:parse_doc_query).
func ReadDocument(q compat.Query) (*documents.ReadOptions, error) {
	o, err := parseDocument(q)
	if err != nil {
		return nil, err
	}
	return &o.ReadOptions, nil
}

// WriteDocument reads the query of a PUT of a document; all of it is checked, also what a PUT
// ignores. replicated is `new_edits=false`: the write keeps its revision.
func WriteDocument(q compat.Query) (replicated bool, err error) {
	o, err := parseDocument(q)
	if err != nil {
		return false, err
	}
	return o.keepRev, nil
}

// parseDocument reads the options of requests for a document in the order of the query, so that of
// several faults the first is reported.
func parseDocument(q compat.Query) (*documentOptions, error) {
	o := &documentOptions{}
	for i := range q {
		if err := o.set(q[i].Name, q[i].Value); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// BulkGet reads the query of _bulk_get, where some options are refused
// (chttpd_db:bulk_get_parse_doc_query).
func BulkGet(q compat.Query) (*documents.ReadOptions, error) {
	o := &documentOptions{}
	for i := range q {
		switch q[i].Name {
		case "open_revs", "new_edits", "w", "rev", "atts_since":
			return nil, compat.NewError(compat.KindBadRequest, `"`+q[i].Name+`" query parameter is not acceptable`)
		}
		if err := o.set(q[i].Name, q[i].Value); err != nil {
			return nil, err
		}
	}
	o.LocalSeq = false // leaves are read, which have no number of their own
	return &o.ReadOptions, nil
}

// set takes one parameter of a document's URL (chttpd_db:parse_doc_query). Of open_revs the last
// one counts; atts_since asks for attachments as well, as attachments=true does.
func (o *documentOptions) set(name, value string) (err error) {
	switch name {
	case "rev":
		o.Rev, err = compat.ParseRev(value)
		o.HasRev = true
		return err
	case "open_revs":
		o.OpenRevsAll, o.OpenRevs = value == "all", nil
		if !o.OpenRevsAll {
			o.OpenRevs, err = parseRevsOption(value)
		}
		return err
	case "atts_since":
		o.AttsSince, err = parseRevsOption(value)
		o.HasAttsSince, o.Attachments = true, true
		return err
	case "new_edits":
		if value == "true" || value == "false" {
			o.keepRev = value == "false"
		}
		return nil
	}
	if value == "true" {
		o.setTrue(name)
	}
	return nil
}

// setTrue turns on the switch of a name; unknown names are ignored, as in CouchDB. meta stands for
// the three that describe the revision tree.
func (o *documentOptions) setTrue(name string) {
	switch name {
	case "attachments":
		o.Attachments = true
	case "att_encoding_info":
		o.AttEncodingInfo = true
	case "conflicts":
		o.Conflicts = true
	case "deleted":
		o.Deleted = true
	case "deleted_conflicts":
		o.DeletedConflicts = true
	case "latest":
		o.Latest = true
	case "local_seq":
		o.LocalSeq = true
	case "meta":
		o.RevsInfo, o.Conflicts, o.DeletedConflicts = true, true, true
	case "revs":
		o.Revs = true
	case "revs_info":
		o.RevsInfo = true
	}
}

func parseRevsOption(text string) ([]compat.Rev, error) {
	list, err := ParseJSON(text)
	if err != nil {
		return nil, err
	}
	return compat.ParseRevs(list)
}

// RequestRev is the revision that a write, COPY or attachment request names: the first `rev` of the
// query, or the If-Match header (its values, none if it is absent; an empty one is no revision),
// which must not contradict each other. ok is false if there is none
// (chttpd_db:extract_header_rev).
func RequestRev(q compat.Query, ifMatch []string) (rev compat.Rev, ok bool, err error) {
	if text, found := q.First("rev"); found {
		if rev, err = compat.ParseRev(text); err != nil {
			return compat.Rev{}, false, err
		}
		ok = true
	}
	return withIfMatch(rev, ok, ifMatch)
}

// withIfMatch joins the revision of the query with that of If-Match; they must not differ.
func withIfMatch(rev compat.Rev, ok bool, ifMatch []string) (compat.Rev, bool, error) {
	if len(ifMatch) == 0 {
		return rev, ok, nil
	}
	match, err := compat.ParseRev(strings.Trim(ifMatch[0], `"`))
	switch {
	case err != nil:
		return compat.Rev{}, false, err
	case ok && match != rev:
		err = compat.NewError(compat.KindBadRequest, "Document rev and etag have different values")
		return compat.Rev{}, false, err
	}
	return match, true, nil
}

// NamesRev reports whether a request names a revision besides the one in its body.
func NamesRev(q compat.Query, ifMatch []string) bool {
	_, found := q.First("rev")
	return found || len(ifMatch) > 0
}

// SetRequestRev completes the revision of a document to be written with what the request names (see
// RequestRev); the document's own revision must agree (chttpd_db:couch_doc_from_req).
func SetRequestRev(d *compat.Document, q compat.Query, ifMatch []string) error {
	if len(d.Revs.IDs) == 0 {
		rev, ok, err := RequestRev(q, ifMatch)
		if err == nil && ok {
			d.Revs = compat.RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
		}
		return err
	}
	if text, found := q.First("rev"); found {
		rev, err := compat.ParseRev(text)
		if err != nil {
			return err
		}
		if rev != d.Rev() {
			const reason = "Document rev from request body and query string have different values"
			return compat.NewError(compat.KindBadRequest, reason)
		}
	}
	_, _, err := withIfMatch(d.Rev(), true, ifMatch)
	return err
}

// Quorum reads the first `w` or `r` of a query; absent is reported by ok. A text that is no integer
// is ErrBadArg, as the real server has it.
func Quorum(q compat.Query, name string) (n int64, ok bool, err error) {
	text, ok := q.First(name)
	if !ok {
		return 0, false, nil
	}
	n, isNumber := compat.ErlangInteger(text)
	if !isNumber {
		return 0, false, compat.ErrBadArg
	}
	return n, true, nil
}

// BatchOK reports whether a write asks for `batch=ok`: to be answered before it is done.
func BatchOK(q compat.Query) bool { return q.Is("batch", "ok") }

// Destination reads the Destination header of a COPY (its values, none if it is absent): the id of
// the target, percent-decoded, and its revision if `?rev=` follows, where any name stands for rev
// (couch_httpd_db:parse_copy_destination_header). plusIsSpace is chttpd/decode_plus_to_space. A
// malformed query is an error here and a crash of the real server.
func Destination(values []string, plusIsSpace bool) (id string, rev compat.Rev, err error) {
	if len(values) == 0 {
		return "", compat.Rev{}, compat.NewError(compat.KindBadRequest, "Destination header is mandatory for COPY.")
	}
	header := values[0]
	if strings.HasPrefix(header, "http://") || strings.HasPrefix(header, "https://") {
		return "", compat.Rev{}, compat.NewError(compat.KindBadRequest, "Destination URL must be relative.")
	}
	id, query, found := strings.Cut(header, "?")
	if found {
		_, text, _ := strings.Cut(query, "=")
		if strings.ContainsAny(text, "=?") {
			return "", compat.Rev{}, compat.ErrInvalidRev
		}
		if rev, err = compat.ParseRev(text); err != nil {
			return "", compat.Rev{}, err
		}
	}
	return compat.Unquote(id, plusIsSpace), rev, nil
}
