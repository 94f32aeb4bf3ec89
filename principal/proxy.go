package principal

import (
	"crypto/hmac"
	"encoding/hex"
	"slices"
	"strings"
)

// ProxyToken reports whether the token proves that a trusted proxy names this user: hex, in letters
// of any case, of the secret's MAC of the name. What is no hex proves nothing; CouchDB 3.5.2
// crashes there (couch_secrets:verify).
func ProxyToken(token, name, secret string, algorithms []string) bool {
	given, err := hex.DecodeString(token)
	return err == nil && slices.ContainsFunc(algorithms, func(algorithm string) bool {
		return hmac.Equal(given, mac(algorithm, secret, name))
	})
}

// SplitRoles splits a list at commas and drops the white space around them (re:split with trim:
// empty items at the end are dropped, but an empty text is one empty item).
func SplitRoles(list string) []string {
	if list == "" {
		return []string{""}
	}
	parts := strings.Split(list, ",")
	for i, part := range parts {
		if i > 0 {
			part = strings.TrimLeft(part, " \t\r\n\v\f")
		}
		if i < len(parts)-1 {
			part = strings.TrimRight(part, " \t\r\n\v\f")
		}
		parts[i] = part
	}
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}
