package compat

import (
	"slices"

	"github.com/settee-db/settee/compat/ejson"
)

// Security is a database's parsed _security object. The zero Security lets server admins in and, as
// members without names and roles, everybody else.
type Security struct {
	admins, members access
}

type access struct{ names, roles texts }

// texts is a set of texts: few are compared one by one.
type texts struct {
	list []string
	set  map[string]struct{} // nil for few
}

// fewTexts are compared faster than looked up.
const fewTexts = 32

// has looks in the set that long lists have, else in the list.
func (t *texts) has(text string) bool {
	if t.set != nil {
		_, ok := t.set[text]
		return ok
	}
	return slices.Contains(t.list, text)
}

// DefaultSecurity is the _security of a new database (couchdb/default_security=admin_only).
const DefaultSecurity = `{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}`

// ErrSecurity is the answer to a _security object that is not valid (fabric:set_security).
var ErrSecurity = &Error{Kind: KindError, Reason: "no_majority"}

// ParseSecurity reads a _security object: admins and members (readers, if members is absent) are
// objects, their names and roles lists of strings (couch_db:validate_security_object). The error is
// ErrSecurity, or ErrNotAnObject.
func ParseSecurity(v ejson.Value) (Security, error) {
	var s Security
	if v.Kind() != ejson.Object {
		return s, ErrNotAnObject
	}
	members, ok := v.Get("members")
	if !ok {
		members, ok = v.Get("readers")
	}
	if ok && !s.members.parse(members) {
		return Security{}, ErrSecurity
	}
	if admins, ok := v.Get("admins"); ok && !s.admins.parse(admins) {
		return Security{}, ErrSecurity
	}
	return s, nil
}

// parse reads admins or members of a security object; false if either list is none.
func (a *access) parse(v ejson.Value) bool {
	if v.Kind() != ejson.Object {
		return false
	}
	return parseStrings(v, "names", &a.names) && parseStrings(v, "roles", &a.roles)
}

// parseStrings reads a list of names or roles; false if it has anything but strings. A long list
// becomes a set: it is searched for every request of a user, and may have thousands of names.
func parseStrings(v ejson.Value, name string, out *texts) bool {
	list, ok := v.Get(name)
	if !ok {
		return true
	}
	if list.Kind() != ejson.Array {
		return false
	}
	for e := range list.Elements() {
		if e.Kind() != ejson.String {
			return false
		}
		out.list = append(out.list, e.Text())
	}
	if len(out.list) > fewTexts {
		out.set = make(map[string]struct{}, len(out.list))
		for _, text := range out.list {
			out.set[text] = struct{}{}
		}
		out.list = nil
	}
	return true
}

func (t *texts) empty() bool { return t.set == nil && len(t.list) == 0 }

// allows reports whether a user is in the list; name "" is nobody.
func (a *access) allows(name string, roles []string) bool {
	for _, r := range roles {
		if r == "_admin" || a.roles.has(r) {
			return true
		}
	}
	return name != "" && a.names.has(name)
}

// IsAdmin reports whether a user is an admin of the database; server admins are.
func (s *Security) IsAdmin(name string, roles []string) bool { return s.admins.allows(name, roles) }

// CheckMember returns nil for users who may use the database, KindUnauthorized for nobody and
// KindForbidden for others (couch_db:check_is_member). A database without member names and roles is
// open to all.
func (s *Security) CheckMember(name string, roles []string) error {
	if s.IsAdmin(name, roles) || s.members.names.empty() && s.members.roles.empty() || s.members.allows(name, roles) {
		return nil
	}
	if name == "" {
		return NewError(KindUnauthorized, KindUnauthorized.row().reason)
	}
	return NewError(KindForbidden, KindForbidden.row().reason)
}

// PasswordError refuses a password that is no string; the reason shows it as an Erlang term
// (couch_passwords:pbkdf2).
func PasswordError(v ejson.Value) *Error {
	return NewError(KindForbidden, "Password value of '"+ErlangTerm(v)+"' is invalid.")
}
