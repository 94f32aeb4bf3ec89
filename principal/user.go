package principal

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// User is what a login is checked against: an entry of [admins], or a document of the users
// database. It is read-only.
type User struct {
	Name       string
	Roles      []string
	Salt       string
	Scheme     string
	PRF        string
	Iterations int64
	Key        string // hex of the hash: password_sha or derived_key
	HasKey     bool
	TOTP       *TOTP // nil without a second factor
	Conflicted bool  // the document has conflicts
	Stored     bool  // comes from a document, which can be rewritten

	// hash of name and password hash, for the Verifier; zero when it was not computed
	fingerprint [16]byte
}

// newFingerprint stands for the name and for all that the stored hash depends on.
func (u *User) newFingerprint() [16]byte {
	var b []byte
	for _, s := range [...]string{u.Name, u.Scheme, u.PRF, u.Salt, u.Key} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	sum := sha256.Sum256(binary.AppendVarint(b, u.Iterations))
	return [16]byte(sum[:16])
}

// DocPrefix begins the ids of user documents.
const DocPrefix = "org.couchdb.user:"

// ParseUser reads the body of a user document. Members of a wrong type count as absent. It returns
// nil for a body that is no object.
func ParseUser(name string, body []byte) *User {
	v, err := ejson.Parse(body)
	if err != nil || v.Kind() != ejson.Object {
		return nil
	}
	u := &User{Name: name, Scheme: SchemeSimple, PRF: "sha", Iterations: 10000, Stored: true}
	if list, ok := v.Get("roles"); ok && list.Kind() == ejson.Array {
		u.Roles = make([]string, 0, list.Len())
		for role := range list.Elements() {
			if role.Kind() == ejson.String {
				u.Roles = append(u.Roles, role.Text())
			}
		}
	}
	text(v, "salt", &u.Salt)
	text(v, "password_scheme", &u.Scheme)
	text(v, "pbkdf2_prf", &u.PRF)
	if n, ok := v.Get("iterations"); ok {
		u.Iterations, _ = n.Int()
	}
	key := "password_sha"
	if u.Scheme != SchemeSimple {
		key = "derived_key"
	}
	u.HasKey = text(v, key, &u.Key)
	if t, ok := v.Get("totp"); ok {
		u.TOTP = parseTOTP(t)
	}
	u.fingerprint = u.newFingerprint()
	return u
}

// text reads a member that is a string; out stays as it is otherwise.
func text(v ejson.Value, name string, out *string) bool {
	member, ok := v.Get(name)
	if ok = ok && member.Kind() == ejson.String; ok {
		*out = member.Text()
	}
	return ok
}

// ParseAdmin reads a hash of [admins] (couch_auth_cache:get_admin); nil for anything else.
func ParseAdmin(name, stored string) *User {
	u := &User{Name: name, Roles: []string{"_admin"}, HasKey: true}
	if rest, ok := strings.CutPrefix(stored, "-hashed-"); ok {
		u.Scheme = SchemeSimple
		u.Key, u.Salt, _ = strings.Cut(rest, ",")
		u.fingerprint = u.newFingerprint()
		return u
	}
	u.Scheme, u.PRF = SchemePBKDF2, "sha"
	rest, ok := strings.CutPrefix(stored, "-pbkdf2-")
	if !ok {
		if rest, ok = strings.CutPrefix(stored, "-pbkdf2:"); !ok {
			return nil
		}
		u.PRF, rest, _ = strings.Cut(rest, "-")
	}
	parts := strings.Split(rest, ",")
	if len(parts) != 3 || prfs[u.PRF] == nil {
		return nil
	}
	n, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return nil
	}
	u.Key, u.Salt, u.Iterations = parts[0], parts[1], n
	u.fingerprint = u.newFingerprint()
	return u
}

// WithRoles returns the user with further roles: those of the document of a server admin
// (couch_auth_cache:add_roles).
func (u *User) WithRoles(roles []string) *User {
	if len(roles) == 0 {
		return u
	}
	merged := *u
	merged.Roles = append(append(make([]string, 0, len(u.Roles)+len(roles)), u.Roles...), roles...)
	return &merged
}

// Outdated reports whether the stored hash is not what new passwords get
// (couch_password_hasher:needs_upgrade). Admins' are never rewritten.
func (u *User) Outdated(h Hashing) bool {
	if !u.Stored || h.Scheme != SchemePBKDF2 {
		return false
	}
	return u.Scheme != h.Scheme || u.Iterations != h.Iterations || u.PRF != h.PRF
}

// allowed refuses hashes the server does not want to compute (couch_httpd_auth:verify_prf,
// verify_iterations).
func (u *User) allowed(l Limits) error {
	if u.Scheme == SchemeSimple {
		return nil
	}
	switch {
	case prfs[u.PRF] == nil:
		return errPRF
	case u.Iterations < l.MinIterations:
		return errIterations[0]
	case u.Iterations > l.MaxIterations:
		return errIterations[1]
	}
	return nil
}

// check computes the hash of a password and compares it with the stored one, whose hex digits count
// with their case.
func (u *User) check(password string) (bool, error) {
	var got string
	var err error
	switch u.Scheme {
	case SchemeSimple:
		got = simple(password, u.Salt)
	case SchemePBKDF2:
		got, err = derive(u.PRF, password, u.Salt, u.Iterations)
	case SchemeLegacy:
		got, err = derive(u.PRF, simple(password, u.Salt), u.Salt, u.Iterations)
	default:
		return false, nil
	}
	return err == nil && u.HasKey && equal(got, u.Key), err
}
