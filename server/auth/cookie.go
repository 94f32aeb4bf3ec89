package auth

import (
	"strconv"
	"strings"
	"time"
)

// CookieName is the name of the session cookie.
const CookieName = "AuthSession"

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

// CookieValue finds the session cookie in the Cookie headers, which count as one; its name counts
// with its case, quotes around it do not (mochiweb_cookies:parse_cookie). It is "" when there is
// none.
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
