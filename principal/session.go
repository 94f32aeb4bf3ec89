package principal

import (
	"crypto/hmac"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
)

// ErrMalformedCookie refuses a cookie that cannot be read.
var ErrMalformedCookie = compat.NewError(compat.KindBadRequest,
	"Malformed AuthSession cookie. Please clear your cookies.")

// Session is the content of a session cookie.
type Session struct {
	Name   string
	signed string // name:time, the input of the MAC
	time   string // hexadecimal seconds
	mac    string
}

// ParseSession reads a cookie's value: base64url without padding of name:TIME: and the raw MAC. The
// error is ErrMalformedCookie.
func ParseSession(value string) (Session, error) {
	raw, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || strings.ContainsAny(value, "\r\n") {
		return Session{}, ErrMalformedCookie
	}
	content := string(raw)
	first := strings.IndexByte(content, ':')
	if first < 0 {
		return Session{}, ErrMalformedCookie
	}
	second := strings.IndexByte(content[first+1:], ':')
	if second < 0 {
		return Session{}, ErrMalformedCookie
	}
	second += first + 1
	return Session{
		Name:   content[:first],
		signed: content[:second],
		time:   content[first+1 : second],
		mac:    content[second+1:],
	}, nil
}

// Left returns how long the session lives on, if it was signed with the key and is younger than
// timeout; ok is false for all others. Any of the algorithms may have signed it.
func (s *Session) Left(
	key string,
	algorithms []string,
	timeout time.Duration,
	now time.Time,
) (left time.Duration, ok bool) {
	begun, err := strconv.ParseInt(s.time, 16, 64)
	if err != nil {
		return 0, false
	}
	begun = min(max(begun, -1<<33), 1<<33) // others, such as milliseconds, do not fit a Duration
	left = time.Duration(begun-now.Unix())*time.Second + timeout
	if left <= 0 {
		return 0, false
	}
	for _, algorithm := range algorithms {
		if hmac.Equal([]byte(s.mac), mac(algorithm, key, s.signed)) {
			return left, true
		}
	}
	return 0, false
}

func mac(algorithm, key, message string) []byte {
	h := hmac.New(macs[algorithm], []byte(key))
	h.Write([]byte(message))
	return h.Sum(nil)
}

// NewSession makes the value of a cookie. The key is the server's secret followed by the user's
// salt.
func NewSession(name, key, algorithm string, now time.Time) string {
	content := name + ":" + strings.ToUpper(strconv.FormatInt(now.Unix(), 16))
	raw := append([]byte(content+":"), mac(algorithm, key, content)...)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Algorithms reads the setting hash_algorithms; unknown ones are left out, and without any it is
// sha256 (couch_util:get_config_hash_algorithms).
func Algorithms(setting string) []string {
	var known []string
	for name := range strings.SplitSeq(setting, ",") {
		if name = strings.TrimSpace(name); macs[name] != nil {
			known = append(known, name)
		}
	}
	if known == nil {
		known = []string{"sha256"}
	}
	return known
}
