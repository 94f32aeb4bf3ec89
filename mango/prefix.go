package mango

import (
	"bytes"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"github.com/settee-db/settee/compat/ejson"
)

// hasPrefix is $beginsWith, Erlang's string:prefix/2: the prefix must not end inside a character as a reader sees it,
// so "e" is no prefix of "e\u0301".
func hasPrefix(v ejson.Value, prefix string) bool {
	var buf [128]byte
	text := v.TextBytes(buf[:0])
	if len(text) < len(prefix) || string(text[:len(prefix)]) != prefix {
		return false
	}
	if prefix == "" || len(text) == len(prefix) || text[len(prefix)] < utf8.RuneSelf && text[len(prefix)] != '\n' {
		return true
	}
	_, size := utf8.DecodeLastRuneInString(prefix)
	cluster, _, _, _ := uniseg.FirstGraphemeCluster(bytes.Clone(text[len(prefix)-size:]), -1)
	return len(cluster) == size
}
