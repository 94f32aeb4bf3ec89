package principal

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var weak = Hashing{SchemePBKDF2, "sha256", 10}

var open = Rules{Limits: Limits{1, 1 << 30}}

func admin(t testing.TB, password string, h Hashing) *User {
	t.Helper()
	stored, err := HashAdmin(password, h)
	require.NoError(t, err)
	u := ParseAdmin("admin", stored)
	require.NotNil(t, u)
	return u
}

func TestAdminForms(t *testing.T) {
	hash, err := HashAdmin("secret", weak)
	require.NoError(t, err)
	require.True(t, IsHashed(hash))
	require.Regexp(t, `^-pbkdf2:sha256-[0-9a-f]{64},[0-9a-f]{32},10$`, hash)
	for stored, ok := range map[string]bool{
		hash:     true,
		"secret": true,
		"-hashed-9aecc45d2a1d4d0a1d3bbf5a9b6d1c7c9fd8a2d2,x": false,
		"-pbkdf2-" + "zz" + ",salt,10":                       false,
		"-pbkdf2:md5-00,salt,10":                             false,
		"-pbkdf2:sha256-00":                                  false,
		"":                                                   false,
	} {
		require.Equal(t, ok, CheckAdmin("secret", stored), stored)
	}
	// RFC 6070: PBKDF2 with HMAC-SHA1.
	require.True(t, CheckAdmin("password", "-pbkdf2-0c60c80f961f0e71f3a9b524af6012062fe037a6,salt,1"))
	require.True(t, CheckAdmin("password", "-pbkdf2:sha-0c60c80f961f0e71f3a9b524af6012062fe037a6,salt,1"))
	simple, err := HashAdmin("secret", Hashing{Scheme: SchemeSimple})
	require.NoError(t, err)
	require.True(t, CheckAdmin("secret", simple))
	require.False(t, CheckAdmin("Secret", simple))
}

func TestLockout(t *testing.T) {
	v := NewVerifier(nil)
	now := time.Unix(1000, 0)
	v.lockout.now = func() time.Time { return now }
	u := admin(t, "secret", weak)
	r := open
	r.Lockout = LockoutRules{LockoutEnforce, 3, 10, time.Minute}
	try := func(peer, password string) (bool, error) {
		ok, _, err := v.Verify(context.Background(), from(peer), u.Name, password, u, &r)
		return ok, err
	}
	for range 3 {
		ok, err := try("a", "wrong")
		require.NoError(t, err)
		require.False(t, ok)
	}
	_, err := try("a", "secret")
	require.Equal(t, error(ErrLocked), err)
	ok, err := try("b", "secret") // another address
	require.NoError(t, err)
	require.True(t, ok)
	now = now.Add(time.Minute)
	ok, err = try("a", "secret")
	require.NoError(t, err)
	require.True(t, ok)
	r.Lockout.Mode, r.Lockout.Threshold = LockoutWarn, 1
	_, err = try("a", "wrong")
	require.NoError(t, err)
	_, warn, err := v.Verify(context.Background(), from("a"), u.Name, "secret", u, &r)
	require.NoError(t, err)
	require.True(t, warn)
}

// A changed hash is another account for what is remembered.
func TestVerifierForgets(t *testing.T) {
	v := NewVerifier(nil)
	u := admin(t, "one", weak)
	check := func(password string, u *User) bool {
		ok, _, err := v.Verify(context.Background(), from("p"), u.Name, password, u, &open)
		require.NoError(t, err)
		return ok
	}
	require.True(t, check("one", u))
	require.True(t, check("one", u))
	changed := admin(t, "two", weak)
	require.False(t, check("one", changed))
	require.True(t, check("two", changed))
}

// A peer computes one hash at a time, all together no more than there are slots.
func TestGateBounds(t *testing.T) {
	v := NewVerifier(nil)
	var running, most, perPeer, mostPerPeer atomic.Int64
	var wg sync.WaitGroup
	raise := func(n *atomic.Int64, to int64) {
		for old := n.Load(); to > old && !n.CompareAndSwap(old, to); old = n.Load() {
		}
	}
	for i := range 40 {
		peer := []string{"a", "b", "c", "d"}[i%4]
		wg.Go(func() {
			err := v.Do(context.Background(), peer, func() error {
				raise(&most, running.Add(1))
				if peer == "a" {
					raise(&mostPerPeer, perPeer.Add(1))
					defer perPeer.Add(-1)
				}
				time.Sleep(time.Millisecond)
				running.Add(-1)
				return nil
			})
			require.NoError(t, err)
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most.Load(), int64(cap(v.gate.slots)))
	require.Equal(t, int64(1), mostPerPeer.Load())
	require.Empty(t, v.gate.peers)

	leave, err := v.gate.enter(context.Background(), "a")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = v.gate.enter(ctx, "a")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	leave()
	require.Empty(t, v.gate.peers)
}

// Nobody waits for a turn for ever, and who waited too long is told so.
func TestGateWaitIsBounded(t *testing.T) {
	v := NewVerifier(nil)
	v.gate.wait = time.Millisecond
	for range cap(v.gate.slots) {
		leave, err := v.gate.enter(context.Background(), rand.Text()) // another peer each time
		require.NoError(t, err)
		defer leave()
	}
	u := admin(t, "secret", weak)
	_, _, err := v.Verify(context.Background(), from("x"), u.Name, "secret", u, &open)
	require.Equal(t, error(ErrBusy), err)
}

// An unknown name costs a hash of the usual kind.
func TestUnknownNameCostsAHash(t *testing.T) {
	hashes := 0
	v := NewVerifier(func(slow bool) { hashes++ })
	rules := Rules{Usual: Hashing{Scheme: SchemePBKDF2, PRF: "sha256", Iterations: 3}}
	ok, _, err := v.Verify(context.Background(), from("x"), "nobody", "secret", nil, &rules)
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, 1, hashes)
	rules.Usual.PRF = "md4"
	_, _, err = v.Verify(context.Background(), from("x"), "nobody", "secret", nil, &rules)
	require.NoError(t, err)
}

// RFC 6238, appendix B.
func TestTOTP(t *testing.T) {
	u := ParseUser("x", []byte(`{"totp":{"key":"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ","length":8}}`))
	require.Equal(t, "94287082", u.TOTP.token(time.Unix(59, 0)))
	require.True(t, u.TOTP.Verify("07081804", time.Unix(1111111109, 0)))
	require.False(t, u.TOTP.Verify("07081805", time.Unix(1111111109, 0)))
	require.False(t, ParseUser("x", []byte(`{"totp":{"key":"!"}}`)).TOTP.Verify("", time.Now()))
	require.Nil(t, ParseUser("x", []byte(`{}`)).TOTP)
}

func FuzzCheckAdmin(f *testing.F) {
	f.Add("a", "-pbkdf2:sha256-00,b,1")
	f.Add("a", "-hashed-,")
	f.Fuzz(func(t *testing.T, password, stored string) {
		if len(stored) < 60 {
			if u := ParseAdmin("", stored); u == nil || u.Iterations < 1000 {
				CheckAdmin(password, stored)
			}
		}
	})
}

func BenchmarkVerifyKnown(b *testing.B) {
	v := NewVerifier(nil)
	u := admin(b, "password", weak)
	b.ReportAllocs()
	for b.Loop() {
		if ok, _, err := v.Verify(b.Context(), from("127.0.0.1"), u.Name, "password", u, &open); !ok || err != nil {
			b.Fatal(err)
		}
	}
}

func from(peer string) func() string { return func() string { return peer } }
