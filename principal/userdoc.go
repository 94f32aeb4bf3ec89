package principal

import (
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
)

// passwordFields are replaced when a document brings a password.
var passwordFields = []string{
	"derived_key", "iterations", "password", "password_scheme", "password_sha", "preserve_salt", "pbkdf2_prf", "salt",
}

// HasPassword reports whether a document brings a clear password, which must be hashed before it is
// stored.
func HasPassword(body ejson.Value) bool {
	password, given := body.Get("password")
	return given && !password.IsNull()
}

// HashDocument returns the body of a user document with the hash in place of the clear password
// (couch_users_db:save_doc). It costs a whole hash. The body must have a password (HasPassword).
func HashDocument(body ejson.Value, h Hashing, p *Policy) ([]byte, error) {
	value, _ := body.Get("password")
	if h.Scheme != SchemeSimple && h.Scheme != SchemePBKDF2 {
		return nil, errCannotHash
	}
	if value.Kind() != ejson.String {
		return nil, compat.PasswordError(value)
	}
	password := value.Text()
	if err := p.check(password); err != nil {
		return nil, err
	}
	salt := newSalt()
	if keep, _ := body.Get("preserve_salt"); isTrue(keep) {
		text(body, "salt", &salt)
	}
	b := append([]byte(nil), `{"password_scheme":`...)
	b = ejson.AppendString(b, h.Scheme)
	if h.Scheme == SchemeSimple {
		b = ejson.AppendString(append(b, `,"salt":`...), salt)
		b = ejson.AppendString(append(b, `,"password_sha":`...), simple(password, salt))
	} else {
		key, err := derive(h.PRF, password, salt, h.Iterations)
		if err != nil {
			return nil, err
		}
		b = ejson.AppendString(append(b, `,"pbkdf2_prf":`...), h.PRF)
		b = ejson.AppendString(append(b, `,"salt":`...), salt)
		b = strconv.AppendInt(append(b, `,"iterations":`...), h.Iterations, 10)
		b = ejson.AppendString(append(b, `,"derived_key":`...), key)
	}
	return appendFields(b, body, func(name string) bool { return !slices.Contains(passwordFields, name) }), nil
}

// WithPassword returns the body with a clear password that keeps its salt: what HashDocument needs
// to rewrite a hash of another kind without ending sessions.
func WithPassword(body ejson.Value, password string) []byte {
	b := ejson.AppendString([]byte(`{"password":`), password)
	b = append(b, `,"preserve_salt":true`...)
	return appendFields(b, body, func(name string) bool { return name != "password" && name != "preserve_salt" })
}

// PublicFields returns the body with only the named fields, and whether any is left.
func PublicFields(body ejson.Value, names []string) (public []byte, any bool) {
	b := appendFields([]byte{'{'}, body, func(name string) bool { return slices.Contains(names, name) })
	return b, len(b) > len("{}")
}

// appendFields appends the chosen members to an object that is begun in b, and ends it.
func appendFields(b []byte, body ejson.Value, choose func(name string) bool) []byte {
	for key, value := range body.Members() {
		if !choose(key.Text()) {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(key.AppendJSON(b), ':')
		b = value.AppendJSON(b)
	}
	return append(b, '}')
}

func isTrue(v ejson.Value) bool {
	b, ok := v.Bool()
	return ok && b
}
