package auth

import (
	"crypto/hmac"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/settee-db/settee/compat"
)

// CookieName is the name of the session cookie.
const CookieName = "AuthSession"

// ErrMalformedCookie refuses a cookie that cannot be read.
var ErrMalformedCookie = compat.NewError(compat.KindBadRequest,
	"Malformed AuthSession cookie. Please clear your cookies.")

// Session is the content of a session cookie.
type Session struct {
	Name   string
	signed string // name:time, what the MAC is of
	time   string // hexadecimal seconds
	mac    string
}

// ParseSession reads a cookie's value: base64url without padding of name:TIME: and the raw MAC. The error is
// ErrMalformedCookie.
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

// Left returns how long the session lives on, if it was signed with the key and is younger than timeout; ok is false
// for all others. Any of the algorithms may have signed it.
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

// NewSession makes the value of a cookie. The key is the server's secret followed by the user's salt.
func NewSession(name, key, algorithm string, now time.Time) string {
	content := name + ":" + strings.ToUpper(strconv.FormatInt(now.Unix(), 16))
	raw := append([]byte(content+":"), mac(algorithm, key, content)...)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Algorithms reads the setting hash_algorithms; unknown ones are left out, and without any it is sha256
// (couch_util:get_config_hash_algorithms).
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

// CookieOptions are the settings of the session cookie.
type CookieOptions struct {
	Timeout    time.Duration
	Persistent bool   // it outlives the browser
	Domain     string // "" for the host alone
	SameSite   string // as set: none, lax or strict in any case; others count as unset
	Secure     bool   // the request came by TLS
}

// SetCookie makes the Set-Cookie header of a value; an empty one clears the cookie.
func (o *CookieOptions) SetCookie(value string, now time.Time) string {
	var b strings.Builder
	b.WriteString(CookieName + "=" + value + "; Version=1")
	if o.Persistent {
		b.WriteString("; Expires=" + now.Add(o.Timeout).UTC().Format("Mon, 02-Jan-2006 15:04:05 GMT"))
		b.WriteString("; Max-Age=" + strconv.FormatInt(int64(o.Timeout/time.Second), 10))
	}
	if o.Secure {
		b.WriteString("; Secure")
	}
	if o.Domain != "" {
		b.WriteString("; Domain=" + o.Domain)
	}
	b.WriteString("; Path=/; HttpOnly")
	switch strings.ToLower(o.SameSite) {
	case "none":
		b.WriteString("; SameSite=None")
	case "lax":
		b.WriteString("; SameSite=Lax")
	case "strict":
		b.WriteString("; SameSite=Strict")
	}
	return b.String()
}

// CookieValue finds the session cookie in the Cookie headers, which count as one; its name counts with its case, quotes
// around it do not (mochiweb_cookies:parse_cookie). It is "" when there is none.
func CookieValue(headers []string) string {
	between := func(r rune) bool { return r == ';' || r == ',' }
	for pair := range strings.FieldsFuncSeq(strings.Join(headers, ","), between) {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok || strings.TrimSpace(name) != CookieName {
			continue
		}
		value = strings.TrimSpace(value)
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		return value
	}
	return ""
}
