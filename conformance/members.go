package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// member is one member of a JSON object, its value as it was written.
type member struct {
	name  string
	value json.RawMessage
}

// members is a JSON object that keeps the order of its members. Scenario files are edited by people
// and rewritten by the recorder, which must not shuffle them.
type members []member

// parseMembers reads the members of the JSON object src. A null is an object without members.
func parseMembers(src []byte) (members, error) {
	dec := json.NewDecoder(bytes.NewReader(src))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open == nil {
		return nil, nil
	}
	if open != json.Delim('{') {
		return nil, errors.New("expected a JSON object")
	}
	var ms members
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		ms = append(ms, member{name.(string), value})
	}
	return ms, nil
}

// get returns the value of the named member, nil if there is none.
func (ms members) get(name string) json.RawMessage {
	for _, m := range ms {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// set replaces the value of the named member in its place, or appends it.
func (ms members) set(name string, value json.RawMessage) members {
	for i := range ms {
		if ms[i].name == name {
			ms[i].value = value
			return ms
		}
	}
	return append(ms, member{name, value})
}

// appendJSON appends the object's text.
func (ms members) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i, m := range ms {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, m.name)
		dst = append(dst, ':')
		dst = append(dst, m.value...)
	}
	return append(dst, '}')
}

// appendString appends s as a JSON string that escapes no more than it must. encoding/json escapes
// U+2028 and U+2029 too, which would change the bytes that a scenario sends.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= 0x20:
			dst = append(dst, c)
		default:
			if j := strings.IndexByte("\b\f\n\r\t", c); j >= 0 {
				dst = append(dst, '\\', "bfnrt"[j])
			} else {
				dst = fmt.Appendf(dst, `\u%04x`, c)
			}
		}
	}
	return append(dst, '"')
}

// mapStrings rewrites every string in the JSON text src, member names included, with f, and drops
// white space between tokens. Everything else, so the exact form of each number, stays.
func mapStrings(src []byte, f func(string) string) ([]byte, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, src); err != nil {
		return nil, err
	}
	rest := compact.Bytes()
	out := make([]byte, 0, len(rest))
	for len(rest) > 0 {
		if rest[0] != '"' {
			n := bytes.IndexByte(rest, '"')
			if n < 0 {
				n = len(rest)
			}
			out = append(out, rest[:n]...)
			rest = rest[n:]
			continue
		}
		n := stringEnd(rest)
		var s string
		if err := json.Unmarshal(rest[:n], &s); err != nil {
			return nil, err
		}
		if !utf8.ValidString(s) {
			return nil, errors.New("string is not UTF-8")
		}
		out = appendString(out, f(s))
		rest = rest[n:]
	}
	return out, nil
}

// stringEnd returns the length of the JSON string that valid JSON text src begins with.
func stringEnd(src []byte) int {
	for i := 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(src)
}
