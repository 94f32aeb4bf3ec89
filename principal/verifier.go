package principal

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	"github.com/settee-db/settee/compat/cache"
)

// Rules are the settings a check of a password follows.
type Rules struct {
	Limits  Limits
	Lockout LockoutRules
	// Usual is how most users' passwords are hashed: what an unknown name costs.
	Usual Hashing
}

// Verifier checks passwords. It remembers right ones, so that the slow hash is computed once for
// each; wrong ones stay slow, and are counted. It is safe for concurrent use.
type Verifier struct {
	known *cache.Cache[[32]byte, struct{}]
	// random key of this process, so that remembered fingerprints are useless elsewhere
	key     [16]byte
	gate    *gate
	lockout *lockout
	counted func(slow bool)
}

// knownLimit bounds the memory of passwords that were right.
const knownLimit = 16384

// NewVerifier returns a Verifier that knows nothing yet. counted, if it is not nil, is called for
// every hash: the slow hashes of stored passwords, and the fast ones by which remembered passwords
// are found (CouchDB's password_hashing_slow and password_hashing_fast).
func NewVerifier(counted func(slow bool)) *Verifier {
	if counted == nil {
		counted = func(bool) {}
	}
	v := &Verifier{
		known: cache.New[[32]byte, struct{}](knownLimit), gate: newGate(), lockout: newLockout(), counted: counted,
	}
	rand.Read(v.key[:])
	return v
}

// Verify reports whether the password is the user's. A nil user is an unknown name, which counts as
// a failure and takes as long as one of a known name. warn is set when the account would be locked
// but the rules only warn. peer is asked only when it matters. The error is ErrLocked, ErrBusy, one
// of the hash's limits, or ctx's.
func (v *Verifier) Verify(
	ctx context.Context,
	peer func() string,
	name, password string,
	u *User,
	r *Rules,
) (ok, warn bool, err error) {
	a := func() attempt {
		if u == nil {
			return newAttempt(peer(), name, "")
		}
		return newAttempt(peer(), name, u.Salt)
	}
	if v.lockout.counting(r.Lockout) && v.lockout.reached(a(), r.Lockout) {
		if r.Lockout.Mode == LockoutEnforce {
			return false, false, ErrLocked
		}
		warn = true
	}
	if u != nil {
		ok, err = v.check(ctx, peer, password, u, r.Limits)
	} else {
		err = v.Pretend(ctx, peer, password, r)
	}
	if !ok && err == nil {
		v.lockout.add(a(), r.Lockout)
	}
	return ok, warn, err
}

// WrongToken counts a login whose password was right and whose second factor was not: else the
// factor of a known password could be guessed.
func (v *Verifier) WrongToken(peer, name string, u *User, r *Rules) {
	v.lockout.add(newAttempt(peer, name, u.Salt), r.Lockout)
}

// Tell names the function that tells other processes of failures, by what they are counted for. It
// is called before the first login.
func (v *Verifier) Tell(tell func(failure [sha256.Size]byte)) { v.lockout.tell = tell }

// FailedElsewhere counts a failure that another process tells of.
func (v *Verifier) FailedElsewhere(failure [sha256.Size]byte, r LockoutRules) {
	v.lockout.count(failure, r)
}

// check computes the hash of a password unless it was right lately. What is remembered is a keyed
// hash of password and user, so that a changed password is another one.
func (v *Verifier) check(ctx context.Context, peer func() string, password string, u *User, l Limits) (bool, error) {
	key := v.fingerprint(password, u)
	if _, known := v.known.Get(key); known {
		v.counted(false)
		return true, nil
	}
	if err := u.allowed(l); err != nil {
		return false, err
	}
	leave, err := v.gate.enter(ctx, peer())
	if err != nil {
		return false, err
	}
	defer leave()
	if _, known := v.known.Get(key); known { // the same login was checked while this one waited
		return true, nil
	}
	if u.Scheme != SchemeSimple {
		v.counted(true)
	}
	ok, err := u.check(password)
	if ok && err == nil {
		v.known.Add(key, struct{}{})
		v.counted(false)
	}
	return ok, err
}

// Pretend takes as long as a hash, for refusals that need none: their duration must not tell them
// apart. The error is ErrBusy or ctx's.
func (v *Verifier) Pretend(ctx context.Context, peer func() string, password string, r *Rules) error {
	h := r.Usual
	if h.Scheme != SchemePBKDF2 {
		return nil
	}
	return v.Do(ctx, peer(), func() error {
		// settings that cannot hash cost nothing
		_, _ = derive(h.PRF, password, "0123456789abcdef0123456789abcdef", h.Iterations)
		return nil
	})
}

// Do runs f, which computes a hash for the peer, within the bounds of all hashes. The error is f's,
// ErrBusy, or ctx's.
func (v *Verifier) Do(ctx context.Context, peer string, f func() error) error {
	leave, err := v.gate.enter(ctx, peer)
	if err != nil {
		return err
	}
	defer leave()
	v.counted(true)
	return f()
}

// fingerprint stands for a password together with the stored hash it is checked against: whatever
// changes in the hash makes it another one. With a password of usual length it is one block of
// SHA-256.
func (v *Verifier) fingerprint(password string, u *User) [32]byte {
	var buf [128]byte
	b := append(buf[:0], v.key[:]...)
	stored := u.fingerprint
	if stored == ([16]byte{}) {
		stored = u.newFingerprint()
	}
	b = append(b, stored[:]...)
	return sha256.Sum256(append(b, password...))
}
