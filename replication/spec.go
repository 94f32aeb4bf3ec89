package replication

import (
	"encoding/base64"
	"errors"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// Spec is a replication as it was asked for, by a document or by POST /_replicate (#rep{} of
// couch_replicator.hrl).
type Spec struct {
	DB        string // the replicator database, "" for a transient replication
	DocID     string // of the replicator document; a body of _replicate may have an _id, too
	Source    Endpoint
	Target    Endpoint
	Options   Options
	User      UserContext
	ID        JobID
	Begun     time.Time // when it was asked for
	TakenOver bool      // another process may have run it until now: it begins without the pause of a start

	// Source of the user's filter, once it was read (Identify); part of the id.
	filterCode string
}

// ofDocument says whether a document asked for the replication, as opposed to POST /_replicate.
func (s *Spec) ofDocument() bool { return s.DB != "" }

// UserContext is who asked for a replication: the caller of _replicate, or the user_ctx of a
// document.
type UserContext struct {
	Name  string // "" for nobody
	Roles []string
}

// Header is a request header that an endpoint wants.
type Header struct{ Name, Value string }

// Endpoint is one side of a replication.
//
// Credentials are kept apart from the URL, so that no list, log or id shows a password.
type Endpoint struct {
	URL      string // without credentials, with a slash at the end unless it has a query
	User     string
	Password string
	HasCreds bool
	Headers  []Header // in the order that counts for the replication id, without defaults
	Proxy    string   // "" for none
	// Local is the name of the database if it was named without a URL: then it is one of this
	// server's.
	Local   string
	IsLocal bool
}

// defaultHeaders go out with every request.
var defaultHeaders = []Header{{"Accept", "application/json"}, {"User-Agent", UserAgent}}

// UserAgent is the User-Agent of CouchDB's replicator, by which peers and logs know one. The
// default headers count for replication ids, so it is that of the version this server stands for.
const UserAgent = "CouchDB-Replicator/3.5.2"

// SpecError is why something is no replication.
type SpecError struct {
	Class  SpecErrorClass
	Reason string
	List   bool // the reason is an Erlang string and not a binary
}

// SpecErrorClass is the way CouchDB's parser fails.
type SpecErrorClass uint8

// The classes: throw:{error, Reason}, throw:{bad_request, Reason}, and a crash.
const (
	SpecInvalid SpecErrorClass = iota
	SpecBadRequest
	SpecCrash
)

// Error implements error.
func (e *SpecError) Error() string { return e.Reason }

// Forbidden is the reason for which a replicator document is refused
// (couch_replicator_parse:parse_rep_doc).
func (e *SpecError) Forbidden() string {
	switch e.Class {
	case SpecBadRequest:
		text := appendBinaryTerm(nil, e.Reason)
		if e.List {
			// appendBinaryTerm gives <<"…">>; without the brackets it prints as a string.
			text = text[2 : len(text)-2]
		}
		return "{throw,{bad_request," + string(text) + "}}"
	case SpecCrash:
		return "{error," + e.Reason + "}"
	}
	return e.Reason
}

func badOption(reason string) error { return &SpecError{Class: SpecBadRequest, Reason: reason} }

func invalid(reason string) error { return &SpecError{Class: SpecInvalid, Reason: reason} }

var (
	errFunctionClause  = &SpecError{Class: SpecCrash, Reason: "function_clause"}
	errMissingEndpoint = invalid("Missing replicator database")
	errLocalEndpoint   = invalid("local_endpoints_not_supported")
)

// ParseSpec reads a replication from a document or from the body of _replicate, whose endpoints are
// URLs or objects with one (couch_replicator_parse:parse_rep_doc_without_id). Its ID is not set.
// Errors are SpecErrors.
func ParseSpec(doc ejson.Value, set *Settings) (*Spec, error) {
	sourceProxy, targetProxy, err := parseProxies(doc)
	if err != nil {
		return nil, err
	}
	s := new(Spec)
	if s.Options, err = parseOptions(doc, set); err != nil {
		return nil, err
	}
	// The request names what to cancel by its id, and needs no endpoints.
	if s.Options.Cancel && s.Options.CancelID != nil {
		return s, nil
	}
	if s.Source, err = parseEndpoint(doc, "source", sourceProxy, set); err != nil {
		return nil, err
	}
	if s.Target, err = parseEndpoint(doc, "target", targetProxy, set); err != nil {
		return nil, err
	}
	if err := s.Options.checkFilter(); err != nil {
		return nil, err
	}
	if id, ok := doc.Get("_id"); ok {
		s.DocID = id.Text()
	}
	s.User = parseUserContext(doc)
	return s, nil
}

// CheckDocument refuses a document of a replicator database that is no replication, as a write is
// refused.
func CheckDocument(doc ejson.Value, set *Settings) error {
	_, err := ParseDocument(doc, set)
	var bad *SpecError
	if errors.As(err, &bad) {
		return compat.NewError(compat.KindForbidden, bad.Forbidden())
	}
	return err
}

// ParseDocument is ParseSpec of a document in a replicator database, whose user_ctx has to be an
// object if it has one (couch_replicator_parse:rep_user_ctx).
func ParseDocument(doc ejson.Value, set *Settings) (*Spec, error) {
	if ctx, ok := doc.Get("user_ctx"); ok && ctx.Kind() != ejson.Object {
		return nil, &SpecError{Class: SpecCrash, Reason: "{case_clause," + compat.ErlangTerm(ctx) + "}"}
	}
	return ParseSpec(doc, set)
}

// parseUserContext reads user_ctx, which says with whose rights a document's replication writes
// here. Members of a wrong type are ignored.
func parseUserContext(doc ejson.Value) UserContext {
	var u UserContext
	ctx, ok := doc.Get("user_ctx")
	if !ok || ctx.Kind() != ejson.Object {
		return u
	}
	if name, ok := ctx.Get("name"); ok && name.Kind() == ejson.String {
		u.Name = name.Text()
	}
	if roles, ok := ctx.Get("roles"); ok && roles.Kind() == ejson.Array {
		for role := range roles.Elements() {
			u.Roles = append(u.Roles, role.Text())
		}
	}
	return u
}

// parseProxies reads the proxies of source and target
// (couch_replicator_parse:parse_proxy_settings): proxy is for both and excludes the other two. An
// empty text counts as not given.
func parseProxies(doc ejson.Value) (source, target ejson.Value, err error) {
	both, _ := doc.Get("proxy")
	source, _ = doc.Get("source_proxy")
	target, _ = doc.Get("target_proxy")
	given := func(v ejson.Value) bool {
		return v.Kind() != ejson.Invalid && (v.Kind() != ejson.String || v.Text() != "")
	}
	switch {
	case !given(both):
		return source, target, nil
	case given(source):
		return both, both, &SpecError{
			Class:  SpecBadRequest,
			Reason: "`proxy` is mutually exclusive with `source_proxy`",
			List:   true,
		}
	case given(target):
		return both, both, &SpecError{
			Class:  SpecBadRequest,
			Reason: "`proxy` is mutually exclusive with `target_proxy`",
			List:   true,
		}
	}
	return both, both, nil
}

// parseEndpoint reads source or target (couch_replicator_parse:parse_rep_db).
func parseEndpoint(doc ejson.Value, name string, proxy ejson.Value, set *Settings) (Endpoint, error) {
	var e Endpoint
	v, given := doc.Get(name)
	if !given {
		return e, errMissingEndpoint
	}
	url := v
	switch v.Kind() {
	case ejson.String:
		if text := v.Text(); !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
			return e, errLocalEndpoint
		}
	case ejson.Object:
		url, _ = v.Get("url")
	default:
		return e, errFunctionClause
	}
	if err := checkURL(url, "endpoint", set.EndpointProtocols); err != nil {
		return e, err
	}
	e.URL = url.Text()
	// Paths below the database are appended to the URL as they are.
	if !strings.Contains(e.URL, "?") && !strings.HasSuffix(e.URL, "/") {
		e.URL += "/"
	}
	if err := e.setProxy(proxy, set); err != nil {
		return e, err
	}
	if v.Kind() != ejson.Object {
		return e, e.takeCredentials(ejson.Value{})
	}
	auth, given := v.Get("auth")
	if given && auth.Kind() != ejson.Object {
		return e, &SpecError{Class: SpecCrash, Reason: "{badmatch," + compat.ErlangTerm(auth) + "}"}
	}
	if headers, given := v.Get("headers"); given {
		if err := e.setHeaders(headers); err != nil {
			return e, err
		}
	}
	return e, e.takeCredentials(auth)
}

// checkURL refuses an endpoint whose URL cannot be parsed, or has another scheme than one of
// protocols.
func checkURL(v ejson.Value, kind string, protocols []string) error {
	bad := invalid(kind + " has an invalid url")
	if v.Kind() != ejson.String {
		return bad
	}
	u, ok := parseURL(v.Text())
	if !ok || !slices.Contains(protocols, u.scheme) {
		return bad
	}
	return nil
}

// setProxy reads a proxy; an empty text is none. The errors are those of CouchDB, of which one is a
// crash: it matches the parsed URL without looking at the error.
func (e *Endpoint) setProxy(v ejson.Value, set *Settings) error {
	if v.Kind() == ejson.Invalid || v.Kind() == ejson.String && v.Text() == "" {
		return nil
	}
	if v.Kind() != ejson.String {
		return invalid("Invalid proxy url")
	}
	if _, ok := parseURL(v.Text()); !ok {
		return &SpecError{Class: SpecCrash, Reason: "{badmatch,{error,invalid_uri}}"}
	}
	e.Proxy = v.Text()
	return checkURL(v, "proxy", set.ProxyProtocols)
}

// setHeaders takes the object's members, the first of equal names, in the order of the names.
func (e *Endpoint) setHeaders(v ejson.Value) error {
	if v.Kind() != ejson.Object {
		return &SpecError{Class: SpecCrash, Reason: "{badmatch," + compat.ErlangTerm(v) + "}"}
	}
	for name, value := range v.Members() {
		if value.Kind() != ejson.String {
			return &SpecError{Class: SpecCrash, Reason: "badarg"}
		}
		e.Headers = append(e.Headers, Header{name.Text(), value.Text()})
	}
	sort.SliceStable(e.Headers, func(i, j int) bool { return e.Headers[i].Name < e.Headers[j].Name })
	return nil
}

// takeCredentials finds name and password in the auth object, else in the URL, else in an
// Authorization header, and takes them out of the latter two
// (couch_replicator_utils:normalize_basic_auth).
func (e *Endpoint) takeCredentials(auth ejson.Value) error {
	headerUser, headerPass, hasHeader := e.takeBasicHeader()
	// Credentials leave the URL whether they are used or not.
	u, _ := parseURL(e.URL)
	if u.creds {
		e.URL = u.prefix + u.rest
	}
	if basic, ok := auth.Get("basic"); ok {
		user, _ := basic.Get("username")
		pass, _ := basic.Get("password")
		if user.Kind() == ejson.String && pass.Kind() == ejson.String {
			e.User, e.Password, e.HasCreds = user.Text(), pass.Text(), true
			return nil
		}
	}
	switch {
	case u.colon:
		e.User, e.Password, e.HasCreds = u.user, u.pass, true
	case hasHeader:
		e.User, e.Password, e.HasCreds = headerUser, headerPass, true
	}
	return nil
}

// takeBasicHeader removes a Basic Authorization header and decodes it. A header of another kind
// stays, but either way the order becomes that of the names in lower case.
func (e *Endpoint) takeBasicHeader() (user, pass string, ok bool) {
	at := slices.IndexFunc(e.Headers, func(h Header) bool { return strings.EqualFold(h.Name, "authorization") })
	if at < 0 {
		// Headers that every request has anyway do not count for the id.
		e.Headers = slices.DeleteFunc(e.Headers, func(h Header) bool { return slices.Contains(defaultHeaders, h) })
		return "", "", false
	}
	scheme, encoded, found := strings.Cut(e.Headers[at].Value, " ")
	if found && strings.EqualFold(scheme, "basic") {
		e.Headers = slices.Delete(e.Headers, at, at+1)
		if raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded)); err == nil {
			user, pass, ok = strings.Cut(string(raw), ":")
		}
	}
	sort.SliceStable(e.Headers, func(i, j int) bool {
		return strings.ToLower(e.Headers[i].Name) < strings.ToLower(e.Headers[j].Name)
	})
	e.Headers = slices.DeleteFunc(e.Headers, func(h Header) bool { return slices.Contains(defaultHeaders, h) })
	return user, pass, ok
}

// DisplayURL is the URL as lists show it.
func (e *Endpoint) DisplayURL() string { return StripPassword(e.URL) }
