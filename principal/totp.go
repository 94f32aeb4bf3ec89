package principal

import (
	"crypto/hmac"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/settee-db/settee/compat/ejson"
)

// TOTP is a second factor of RFC 6238, as the field totp of a user document describes it.
type TOTP struct {
	key       []byte
	algorithm string
	length    int
}

// parseTOTP reads the field. What cannot be read makes a factor that no token meets.
func parseTOTP(v ejson.Value) *TOTP {
	t := &TOTP{algorithm: "sha", length: 6}
	var key string
	text(v, "key", &key)
	text(v, "algorithm", &t.algorithm)
	if n, ok := v.Get("length"); ok {
		digits, _ := n.Int()
		t.length = int(min(max(digits, 0), 10))
	}
	unpadded := base32.StdEncoding.WithPadding(base32.NoPadding)
	raw, err := unpadded.DecodeString(strings.TrimRight(strings.ToUpper(key), "="))
	if err == nil && len(raw) > 0 && prfs[t.algorithm] != nil && t.length > 0 {
		t.key = raw
	}
	return t
}

// step is how long a token is valid.
const step = 30 * time.Second

// Verify reports whether the token is that of now, or of half a minute before or after
// (couch_httpd_auth:verify_token). It takes the same time for every token.
func (t *TOTP) Verify(token string, now time.Time) bool {
	if t.key == nil {
		return false
	}
	ok := false
	for _, at := range [...]time.Time{now.Add(-step), now, now.Add(step)} {
		if equal(token, t.token(at)) {
			ok = true
		}
	}
	return ok
}

// token is the number of the period that a time is in (RFC 6238): the truncated HMAC of the
// period's number.
func (t *TOTP) token(at time.Time) string {
	h := hmac.New(prfs[t.algorithm], t.key)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()/int64(step/time.Second))))
	sum := h.Sum(nil)
	offset := sum[len(sum)-1] & 15
	n := binary.BigEndian.Uint32(sum[offset:]) & math.MaxInt32
	return fmt.Sprintf("%0*d", t.length, uint64(n)%uint64(math.Pow10(t.length)))
}
