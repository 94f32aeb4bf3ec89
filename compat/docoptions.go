package compat

import (
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// DocOptions are the query options of document requests (#doc_query_args). Names and values are case-sensitive and
// unknown ones are ignored; boolean options act on the exact value `true` only, and any one of several counts.
type DocOptions struct {
	Rev    Rev // the last `rev`; writes use RequestRev instead
	HasRev bool

	OpenRevs    []Rev // empty and not OpenRevsAll: a plain GET
	OpenRevsAll bool
	Latest      bool

	AttsSince    []Rev // atts_since implies Attachments
	HasAttsSince bool

	Attachments      bool
	AttEncodingInfo  bool
	Conflicts        bool
	Deleted          bool
	DeletedConflicts bool
	LocalSeq         bool
	Revs             bool
	RevsInfo         bool

	// NewEditsFalse is `new_edits=false`: the write keeps its revision. Of `true` and `false` the last counts.
	NewEditsFalse bool
}

// ParseDocOptions reads the query of a GET or PUT of a document. All of it is checked, also what the method ignores
// (chttpd_db:parse_doc_query).
func ParseDocOptions(q Query) (*DocOptions, error) {
	o := &DocOptions{}
	for i := range q {
		if err := o.set(q[i].Name, q[i].Value); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// ParseBulkGetOptions reads the query of _bulk_get, where some options are refused
// (chttpd_db:bulk_get_parse_doc_query).
func ParseBulkGetOptions(q Query) (*DocOptions, error) {
	o := &DocOptions{}
	for i := range q {
		switch q[i].Name {
		case "open_revs", "new_edits", "w", "rev", "atts_since":
			return nil, NewError(KindBadRequest, `"`+q[i].Name+`" query parameter is not acceptable`)
		}
		if err := o.set(q[i].Name, q[i].Value); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *DocOptions) set(name, value string) (err error) {
	switch name {
	case "rev":
		o.Rev, err = ParseRev(value)
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
			o.NewEditsFalse = value == "false"
		}
		return nil
	}
	if value == "true" {
		o.setTrue(name)
	}
	return nil
}

func (o *DocOptions) setTrue(name string) {
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

func parseRevsOption(text string) ([]Rev, error) {
	list, err := parseOptionJSON(text)
	if err != nil {
		return nil, err
	}
	return ParseRevs(list)
}

// ParseRevs reads a JSON array of revisions (couch_doc:parse_revs).
func ParseRevs(list ejson.Value) ([]Rev, error) {
	if list.Kind() != ejson.Array {
		return nil, NewError(KindBadRequest, "Invalid list of revisions")
	}
	revs := make([]Rev, 0, list.Len())
	for v := range list.Elements() {
		if v.Kind() != ejson.String {
			return nil, ErrInvalidRev
		}
		rev, err := ParseRev(v.Text())
		if err != nil {
			return nil, err
		}
		revs = append(revs, rev)
	}
	return revs, nil
}

// RequestRev is the revision that a write, COPY or attachment request names: the first `rev` of the query, or the
// If-Match header (its values, none if it is absent; an empty one is no revision), which must not contradict each
// other. ok is false if there is none (chttpd_db:extract_header_rev).
func RequestRev(q Query, ifMatch []string) (rev Rev, ok bool, err error) {
	if text, found := q.First("rev"); found {
		if rev, err = ParseRev(text); err != nil {
			return Rev{}, false, err
		}
		ok = true
	}
	return withIfMatch(rev, ok, ifMatch)
}

func withIfMatch(rev Rev, ok bool, ifMatch []string) (Rev, bool, error) {
	if len(ifMatch) == 0 {
		return rev, ok, nil
	}
	match, err := ParseRev(strings.Trim(ifMatch[0], `"`))
	switch {
	case err != nil:
		return Rev{}, false, err
	case ok && match != rev:
		return Rev{}, false, NewError(KindBadRequest, "Document rev and etag have different values")
	}
	return match, true, nil
}

// SetRequestRev completes the revision of a document to be written with what the request names (see RequestRev); the
// document's own revision must agree (chttpd_db:couch_doc_from_req).
func (d *Document) SetRequestRev(q Query, ifMatch []string) error {
	if len(d.Revs.IDs) == 0 {
		rev, ok, err := RequestRev(q, ifMatch)
		if err == nil && ok {
			d.Revs = RevPath{Start: rev.Pos, IDs: []string{rev.Hash}}
		}
		return err
	}
	if text, found := q.First("rev"); found {
		rev, err := ParseRev(text)
		if err != nil {
			return err
		}
		if rev != d.Rev() {
			return NewError(KindBadRequest, "Document rev from request body and query string have different values")
		}
	}
	_, _, err := withIfMatch(d.Rev(), true, ifMatch)
	return err
}

// Quorum reads the first `w` or `r` of a query; absent is reported by ok. A text that is no integer is ErrBadArg, as
// the real server has it.
func Quorum(q Query, name string) (n int64, ok bool, err error) {
	text, ok := q.First(name)
	if !ok {
		return 0, false, nil
	}
	n, isNumber := ErlangInteger(text)
	if !isNumber {
		return 0, false, ErrBadArg
	}
	return n, true, nil
}

// BatchOK reports whether a write asks for `batch=ok`: to be answered before it is done.
func BatchOK(q Query) bool { return q.Is("batch", "ok") }

// ParseDestination reads the Destination header of a COPY (its values, none if it is absent): the id of the target,
// percent-decoded, and its revision if `?rev=` follows, where any name stands for rev
// (couch_httpd_db:parse_copy_destination_header). plusIsSpace is chttpd/decode_plus_to_space. A malformed query is an
// error here and a crash of the real server.
func ParseDestination(values []string, plusIsSpace bool) (id string, rev Rev, err error) {
	if len(values) == 0 {
		return "", Rev{}, NewError(KindBadRequest, "Destination header is mandatory for COPY.")
	}
	header := values[0]
	if strings.HasPrefix(header, "http://") || strings.HasPrefix(header, "https://") {
		return "", Rev{}, NewError(KindBadRequest, "Destination URL must be relative.")
	}
	id, query, found := strings.Cut(header, "?")
	if found {
		_, text, _ := strings.Cut(query, "=")
		if strings.ContainsAny(text, "=?") {
			return "", Rev{}, ErrInvalidRev
		}
		if rev, err = ParseRev(text); err != nil {
			return "", Rev{}, err
		}
	}
	return Unquote(id, plusIsSpace), rev, nil
}
