package auth

import (
	"iter"
	"slices"
	"time"
)

// maxReplaced bounds the secrets that are remembered: each costs a request with a wrong cookie a
// hash for each algorithm.
const maxReplaced = 32

// replaced is a secret that another one has taken the place of.
type replaced struct {
	secret string
	until  time.Time
}

// keepReplaced takes over the secrets that still count, and the one that the settings before had,
// for as long as a cookie of its last moment lives (couch_secrets, which keeps only the last one of
// those replaced within a second).
func (s *Settings) keepReplaced(old *Settings, now time.Time) {
	if old.Secret != "" && old.Secret != s.Secret {
		s.replaced = append(s.replaced, replaced{old.Secret, now.Add(s.Cookie.Timeout)})
	}
	for _, r := range old.replaced {
		again := slices.ContainsFunc(s.replaced, func(kept replaced) bool { return kept.secret == r.secret })
		if r.until.After(now) && r.secret != s.Secret && !again && len(s.replaced) < maxReplaced {
			s.replaced = append(s.replaced, r)
		}
	}
}

// Secrets are those that cookies and tokens of proxies may be signed with: the present one first,
// then those that it has replaced within the lifetime of cookies, the last one first.
func (s *Settings) Secrets(now time.Time) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(s.Secret) {
			return
		}
		for _, r := range s.replaced {
			if r.until.After(now) && !yield(r.secret) {
				return
			}
		}
	}
}
