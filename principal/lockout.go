package principal

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/settee-db/settee/compat"
)

// LockoutMode says what happens after too many failures.
type LockoutMode uint8

// The values of chttpd_auth_lockout/mode.
const (
	LockoutOff LockoutMode = iota
	LockoutWarn
	LockoutEnforce
)

// LockoutRules are the settings of section chttpd_auth_lockout.
type LockoutRules struct {
	Mode      LockoutMode
	Threshold int64
	Objects   int           // how many counters are kept
	Lifetime  time.Duration // of a counter, from its first failure
}

// ErrLocked refuses a login, right or wrong, after too many wrong ones.
var ErrLocked = compat.NewError(compat.KindForbidden,
	"Account is temporarily locked due to multiple authentication failures")

// attempt names a counter: a hash of what failures are counted for. The salt is part of it: a new
// password is a new account.
type attempt [sha256.Size]byte

// newAttempt makes the key of a counter: a hash of the client's address, the name and the salt, so
// that names of any length take the same memory.
func newAttempt(peer, name, salt string) attempt {
	b := make([]byte, 0, 128)
	for _, part := range []string{peer, name} {
		b = append(binary.AppendUvarint(b, uint64(len(part))), part...)
	}
	return sha256.Sum256(append(b, salt...))
}

type failures struct {
	count int64
	since time.Time
}

// lockout counts failed logins (couch_auth_lockout). Success does not reset a counter; time does.
type lockout struct {
	mu     sync.Mutex
	counts *lru.Cache[attempt, failures]
	now    func() time.Time
	tell   func([sha256.Size]byte) // other processes, nil where there are none
}

// defaultObjects is CouchDB's max_objects.
const defaultObjects = 10000

func newLockout() *lockout {
	counts, err := lru.New[attempt, failures](defaultObjects)
	if err != nil {
		panic(err) // only for a size below 1
	}
	return &lockout{counts: counts, now: time.Now}
}

// counting reports whether there is any counter that could be reached.
func (l *lockout) counting(r LockoutRules) bool { return r.Mode != LockoutOff && l.counts.Len() > 0 }

// reached reports whether the account has failed too often.
func (l *lockout) reached(a attempt, r LockoutRules) bool {
	f, ok := l.counts.Get(a)
	return ok && f.count >= r.Threshold && l.now().Sub(f.since) < r.Lifetime
}

// add counts a failure, and has other processes count it.
func (l *lockout) add(a attempt, r LockoutRules) {
	l.count(a, r)
	if l.tell != nil && r.Mode != LockoutOff {
		l.tell(a)
	}
}

// count counts a failure here.
func (l *lockout) count(a attempt, r LockoutRules) {
	if r.Mode == LockoutOff {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Objects > 0 {
		l.counts.Resize(r.Objects)
	}
	f, ok := l.counts.Get(a)
	if now := l.now(); !ok || now.Sub(f.since) >= r.Lifetime {
		f = failures{since: now}
	}
	f.count++
	l.counts.Add(a, f)
}
