package replication

import (
	"crypto/md5"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// JobID names a replication: the hash of what is copied whereto, and the options that make another
// job of it.
//
// CouchDB computes the same id for the same replication, so that either server finds the
// checkpoints of the other and continues them.
type JobID struct {
	Base string // hex; the checkpoints are in _local/Base
	Ext  string // "+continuous", "+create_target", both or none
}

// IDVersion is the version of replication ids that checkpoints are written with.
const IDVersion = 4

// String is the id as clients see it.
func (id JobID) String() string { return id.Base + id.Ext }

// ParseJobID splits an id at its first plus sign; blanks are plus signs that were decoded
// (couch_replicator_ids:convert).
func ParseJobID(text string) JobID {
	text = strings.ReplaceAll(text, " ", "+")
	if i := strings.IndexByte(text, '+'); i >= 0 {
		return JobID{text[:i], text[i:]}
	}
	return JobID{Base: text}
}

// SetID computes the replication's id. filterCode is the source of the user's filter, trimmed, if
// it has one.
func (s *Spec) SetID(set *Settings, filterCode string) {
	of := s
	if set.Shared {
		of = s.anywhere()
	}
	s.ID = JobID{Base: of.baseID(set, IDVersion, filterCode)}
	if s.Options.Continuous {
		s.ID.Ext += "+continuous"
	}
	if s.Options.CreateTarget {
		s.ID.Ext += "+create_target"
	}
}

// anywhere is the replication without the address that this process listens at: the same at all
// processes on a store.
func (s *Spec) anywhere() *Spec {
	if !s.Source.IsLocal && !s.Target.IsLocal {
		return s
	}
	here := *s
	for _, e := range []*Endpoint{&here.Source, &here.Target} {
		if e.IsLocal {
			e.URL = "http://localhost/" + url.QueryEscape(e.Local) + "/"
		}
	}
	return &here
}

// share is the name by which a replication falls to a process, known before its filter's source is:
// all documents that ask for one replication have the same, and a process sees that the second of
// them does.
func (s *Spec) share(set *Settings) string {
	named := *s
	named.SetID(set, "")
	return named.ID.String()
}

// baseID is the hash of version 1 to 4: the MD5 of the external term of a list
// (couch_replicator_ids:replication_id).
func (s *Spec) baseID(set *Settings, version int, filterCode string) string {
	var elements [][]byte
	add := func(term []byte) { elements = append(elements, term) }
	// Older versions are computed too, since checkpoints are found under the ids that an older
	// CouchDB gave the same replication.
	switch version {
	case 1:
		add(appendStringTerm(nil, set.HostName))
	case 2:
		add(appendStringTerm(nil, set.HostName))
		add(ejson.AppendTermInt(nil, int64(set.Port)))
	default:
		add(ejson.AppendTermBinary(nil, set.UUID))
	}
	if version == 4 {
		add(s.Source.term())
		add(s.Target.term())
	} else {
		add(s.Source.oldTerm())
		add(s.Target.oldTerm())
	}
	for _, term := range s.Options.filterTerms(filterCode) {
		add(term)
	}
	if s.Options.WinningRevsOnly {
		add(ejson.AppendTermBinary(nil, "winning_revs_only"))
	}
	if s.Options.SinceSeq != "" {
		add(jsonTerm([]byte(s.Options.SinceSeq)))
	}
	h := md5.New()
	// 131 begins an external term; the list is written by hand because its elements are terms
	// already.
	h.Write(ejson.AppendTermList([]byte{131}, len(elements)))
	for _, e := range elements {
		h.Write(e)
	}
	h.Write(ejson.AppendTermNil(nil))
	return hex.EncodeToString(h.Sum(nil))
}

// filterTerms are the elements that say what is copied.
func (o *Options) filterTerms(filterCode string) [][]byte {
	switch {
	case o.DocIDs != nil:
		term := ejson.AppendTermList(nil, len(o.DocIDs))
		for _, id := range o.DocIDs {
			term = ejson.AppendTermBinary(term, id)
		}
		// An empty list is only the nil at its end, which AppendTermList has written already.
		if len(o.DocIDs) > 0 {
			term = ejson.AppendTermNil(term)
		}
		return [][]byte{term}
	case o.Selector != nil:
		return [][]byte{jsonTerm(o.selectorForID)}
	case o.HasFilter:
		code := o.Filter
		if o.UserFilter() {
			code = filterCode
		}
		params := o.QueryParams
		if params == nil {
			params = []byte("{}")
		}
		return [][]byte{ejson.AppendTermBinary(nil, code), jsonTerm(params)}
	}
	return nil
}

func jsonTerm(text []byte) []byte {
	v, err := ejson.Parse(text)
	if err != nil {
		return nil // it was printed by us
	}
	return v.AppendTerm(nil)
}

// term is the endpoint in ids of version 4: {remote, User, Host, Port, Path, Headers, undefined}.
func (e *Endpoint) term() []byte {
	t := ejson.AppendTermTuple(nil, 7)
	t = ejson.AppendTermAtom(t, "remote")
	if e.HasCreds {
		t = appendStringTerm(t, e.User)
	} else {
		t = ejson.AppendTermAtom(t, "undefined")
	}
	u, _ := parseURL(e.URL)
	t = appendStringTerm(t, u.host)
	// The ports that CouchDB takes for usual are left out of the id: a URL that names them is the
	// same replication. 5984 counts for http only.
	if u.port == 443 && u.scheme == "https" || (u.port == 80 || u.port == 5984) && u.scheme == "http" {
		t = ejson.AppendTermAtom(t, "default")
	} else {
		t = ejson.AppendTermInt(t, int64(u.port))
	}
	t = appendStringTerm(t, u.path)
	t = e.headersTerm(t)
	return ejson.AppendTermAtom(t, "undefined")
}

// oldTerm is the endpoint in older ids: {remote, URL, Headers}.
func (e *Endpoint) oldTerm() []byte {
	t := ejson.AppendTermAtom(ejson.AppendTermTuple(nil, 3), "remote")
	return e.headersTerm(appendStringTerm(t, e.URL))
}

// headersTerm appends the headers as the list of pairs that is hashed into a replication id.
func (e *Endpoint) headersTerm(t []byte) []byte {
	t = ejson.AppendTermList(t, len(e.Headers))
	for _, h := range e.Headers {
		t = appendStringTerm(appendStringTerm(ejson.AppendTermTuple(t, 2), h.Name), h.Value)
	}
	if len(e.Headers) > 0 {
		t = ejson.AppendTermNil(t)
	}
	return t
}

// appendStringTerm appends an Erlang string: a list of bytes.
func appendStringTerm(dst []byte, s string) []byte {
	const tagString, maxString = 107, 65535
	// term_to_binary has a short form for strings of up to 65,535 bytes, and a list of integers for
	// longer ones.
	if s == "" || len(s) > maxString {
		dst = ejson.AppendTermList(dst, len(s))
		for i := range len(s) {
			dst = ejson.AppendTermInt(dst, int64(s[i]))
		}
		if s != "" {
			dst = ejson.AppendTermNil(dst)
		}
		return dst
	}
	return append(append(dst, tagString, byte(len(s)>>8), byte(len(s))), s...)
}
