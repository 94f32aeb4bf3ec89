package server

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"slices"
	"strconv"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/settee-db/settee/compat"
)

// Principal is who makes a request. The zero value is nobody.
type Principal struct {
	Name    string
	Roles   []string
	Handler string // the authentication handler that found the user
}

// IsAdmin tells whether the principal is a server admin.
func (p Principal) IsAdmin() bool { return p.HasRole("_admin") }

// HasRole tells whether the principal has a role.
func (p Principal) HasRole(role string) bool { return slices.Contains(p.Roles, role) }

var (
	errBadBasic = compat.NewError(compat.KindBadRequest, "Authorization header has invalid base64 value")
	errBadLogin = compat.NewError(compat.KindUnauthorized, "Name or password is incorrect.")
)

// authenticator checks credentials. Checked ones are remembered, so that the slow hash is computed once for each password.
type authenticator struct {
	verified *lru.Cache[[32]byte, struct{}]
	key      [32]byte // of the process; makes the cache's keys useless elsewhere
}

// verifiedLimit bounds the memory of checked credentials.
const verifiedLimit = 4096

func newAuthenticator() (*authenticator, error) {
	cache, err := lru.New[[32]byte, struct{}](verifiedLimit)
	if err != nil {
		return nil, err
	}
	a := &authenticator{verified: cache}
	_, err = rand.Read(a.key[:])
	return a, err
}

// basic reads an Authorization header. ok is false when it holds no credentials.
func basicCredentials(header string) (name, password string, ok bool, err error) {
	encoded, found := strings.CutPrefix(header, "Basic ")
	if !found {
		return "", "", false, nil
	}
	raw, err := base64.StdEncoding.DecodeString(strings.Trim(encoded, " \t"))
	if err != nil {
		return "", "", false, errBadBasic
	}
	name, password, found = strings.Cut(string(raw), ":")
	if !found || (name == "_" && password == "_") {
		return "", "", false, nil
	}
	return name, password, true, nil
}

// verify compares a password with a stored hash of [admins].
func (a *authenticator) verify(password, stored string) bool {
	h := sha256.New()
	h.Write(a.key[:])
	h.Write([]byte(stored))
	h.Write([]byte{0})
	h.Write([]byte(password))
	var key [32]byte
	h.Sum(key[:0])
	if _, ok := a.verified.Get(key); ok {
		return true
	}
	if !CheckPassword(password, stored) {
		return false
	}
	a.verified.Add(key, struct{}{})
	return true
}

var hashes = map[string]func() hash.Hash{
	"sha": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// CheckPassword compares a password with a stored one. It knows CouchDB's forms: -pbkdf2:PRF-KEY,SALT,ITERATIONS, -pbkdf2-KEY,SALT,ITERATIONS (sha1),
// -hashed-SHA1,SALT, and the clear password.
func CheckPassword(password, stored string) bool {
	if rest, ok := strings.CutPrefix(stored, "-hashed-"); ok {
		want, salt, _ := strings.Cut(rest, ",")
		sum := sha1.Sum([]byte(password + salt))
		return equal(hex.EncodeToString(sum[:]), want)
	}
	prf := "sha"
	rest, ok := strings.CutPrefix(stored, "-pbkdf2-")
	if !ok {
		if rest, ok = strings.CutPrefix(stored, "-pbkdf2:"); !ok {
			return equal(password, stored)
		}
		prf, rest, _ = strings.Cut(rest, "-")
	}
	parts := strings.Split(rest, ",")
	newHash := hashes[prf]
	if len(parts) != 3 || newHash == nil {
		return false
	}
	iterations, err := strconv.Atoi(parts[2])
	if err != nil || iterations < 1 {
		return false
	}
	derived, err := pbkdf2.Key(newHash, password, []byte(parts[1]), iterations, len(parts[0])/2)
	return err == nil && equal(hex.EncodeToString(derived), parts[0])
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// HashPassword makes the form in which [admins] keeps a password (couch_passwords:hash_admin_password).
func HashPassword(password string, iterations int) (string, error) {
	var raw [16]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return "", err
	}
	salt := hex.EncodeToString(raw[:])
	derived, err := pbkdf2.Key(sha256.New, password, []byte(salt), iterations, sha256.Size)
	if err != nil {
		return "", err
	}
	return "-pbkdf2:sha256-" + hex.EncodeToString(derived) + "," + salt + "," + strconv.Itoa(iterations), nil
}

// IsHashed tells a stored hash from a clear password.
func IsHashed(stored string) bool {
	return strings.HasPrefix(stored, "-pbkdf2:") || strings.HasPrefix(stored, "-pbkdf2-") || strings.HasPrefix(stored, "-hashed-")
}

// authenticate finds out who makes the request; wrong credentials end it.
func (c *Call) authenticate() error {
	header := c.Header("Authorization")
	if header == "" {
		return c.requireUser()
	}
	name, password, ok, err := basicCredentials(header)
	if err != nil || !ok {
		if err == nil {
			err = c.requireUser()
		}
		return err
	}
	stored, isAdmin := c.set.admins[name]
	if !isAdmin || !c.srv.auth.verify(password, stored) {
		return errBadLogin
	}
	c.user = Principal{Name: name, Roles: []string{"_admin"}, Handler: "default"}
	return nil
}

// requireUser refuses nobody when chttpd/require_valid_user says so; only POST /_session (and /_up) are let through.
func (c *Call) requireUser() error {
	if !c.set.requireUser && !c.set.requireUserButUp {
		return nil
	}
	first := c.Segment(0)
	if len(c.segments) == 1 && (first == "_session" && c.method == "POST" || first == "_up" && c.set.requireUserButUp) {
		return nil
	}
	return compat.NewError(compat.KindUnauthorized, "Authentication required.")
}
