package principal

import (
	"encoding/hex"
	"strings"
)

// ProxyToken reports whether the token proves that a trusted proxy names this user: lower-case hex of the secret's MAC
// of the name.
func ProxyToken(token, name, secret string, algorithms []string) bool {
	for _, algorithm := range algorithms {
		if equal(token, hex.EncodeToString(mac(algorithm, secret, name))) {
			return true
		}
	}
	return false
}

// SplitRoles splits a list at commas and drops the white space around them (re:split with trim: empty items at the end
// are dropped, but an empty text is one empty item).
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
