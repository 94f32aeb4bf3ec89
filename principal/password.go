package principal

import (
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"hash"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat"
)

// The schemes of stored passwords.
const (
	SchemeSimple = "simple"        // sha1(password + salt)
	SchemePBKDF2 = "pbkdf2"        // PBKDF2 of the password
	SchemeLegacy = "simple+pbkdf2" // PBKDF2 of the hex of the simple hash
)

// prfs are the hash functions of PBKDF2 by CouchDB's names.
var prfs = map[string]func() hash.Hash{
	"sha": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// macs are the hash functions of cookies and proxy tokens (setting hash_algorithms).
var macs = map[string]func() hash.Hash{
	"md5": md5.New, "sha": sha1.New,
	"sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// Hashing says how new passwords are stored.
type Hashing struct {
	Scheme     string // SchemeSimple or SchemePBKDF2; anything else refuses new passwords
	PRF        string
	Iterations int64
}

// DefaultHashing is what CouchDB 3.5 does when nothing is set.
var DefaultHashing = Hashing{SchemePBKDF2, "sha256", 600000}

// Limits are the iteration counts a server accepts.
type Limits struct{ MinIterations, MaxIterations int64 }

var (
	errPRF        = compat.NewError(compat.KindForbidden, "PRF is invalid")
	errIterations = [2]*compat.Error{
		compat.NewError(compat.KindForbidden, "Iteration count is too low for this server"),
		compat.NewError(compat.KindForbidden, "Iteration count is too high for this server"),
	}
	errCannotHash = compat.NewError(compat.KindForbidden, "Server cannot hash passwords at this time.")
)

// simple is the hex of sha1(password + salt) (couch_passwords:simple).
func simple(password, salt string) string {
	sum := sha1.Sum([]byte(password + salt))
	return hex.EncodeToString(sum[:])
}

// derive is the hex of a PBKDF2 key as long as the hash function's digest.
func derive(prf, password, salt string, iterations int64) (string, error) {
	newHash := prfs[prf]
	if newHash == nil || iterations < 1 || iterations > 1<<31-1 {
		return "", errCannotHash
	}
	key, err := pbkdf2.Key(newHash, password, []byte(salt), int(iterations), newHash().Size())
	return hex.EncodeToString(key), err
}

// newSalt is 32 hexadecimal digits, as CouchDB's salts are.
func newSalt() string {
	var raw [16]byte
	rand.Read(raw[:])
	return hex.EncodeToString(raw[:])
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// HashAdmin makes the form in which [admins] keeps a password
// (couch_passwords:hash_admin_password).
func HashAdmin(password string, h Hashing) (string, error) {
	salt := newSalt()
	if h.Scheme == SchemeSimple {
		return "-hashed-" + simple(password, salt) + "," + salt, nil
	}
	key, err := derive(h.PRF, password, salt, h.Iterations)
	if err != nil {
		return "", err
	}
	return "-pbkdf2:" + h.PRF + "-" + key + "," + salt + "," + strconv.FormatInt(h.Iterations, 10), nil
}

// IsHashed tells a stored hash of [admins] from a clear password
// (couch_passwords:get_unhashed_admins).
func IsHashed(stored string) bool {
	if strings.HasPrefix(stored, "-hashed-") || strings.HasPrefix(stored, "-pbkdf2-") {
		return true
	}
	rest, ok := strings.CutPrefix(stored, "-pbkdf2:")
	prf, _, found := strings.Cut(rest, "-")
	return ok && found && prfs[prf] != nil
}

// CheckAdmin compares a password with a value of [admins], hashed or not. It costs a whole hash.
func CheckAdmin(password, stored string) bool {
	if !IsHashed(stored) {
		return equal(password, stored)
	}
	u := ParseAdmin("", stored)
	if u == nil {
		return false
	}
	ok, err := u.check(password)
	return ok && err == nil
}
