package compat

import (
	"cmp"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/settee-db/settee/compat/ejson"
)

// Rev identifies a revision of a document: its depth and its hash. Hash holds 16 raw bytes where
// the text had 32 hex digits, else the bytes of the text; a text of 16 bytes is therefore the same
// as the hex of its bytes, as in CouchDB. The zero Rev means "no revision". Revs are comparable
// with ==.
type Rev struct {
	Pos  int64
	Hash string
}

// RevPath is a revision with its ancestors, newest first, as in `_revisions`: IDs[i] is the hash at
// depth Start-i. Without IDs there is no revision.
type RevPath struct {
	Start int64
	IDs   []string
}

// Rev is the newest revision of the path, the zero Rev if there is none.
func (p RevPath) Rev() Rev {
	if len(p.IDs) == 0 {
		return Rev{}
	}
	return Rev{Pos: p.Start, Hash: p.IDs[0]}
}

// IsZero reports whether r means "no revision".
func (r Rev) IsZero() bool { return r == Rev{} }

// MaxRevPos is the greatest depth that is read, and with a minus sign the least. It leaves room:
// neither edits nor ancestors can overflow a depth.
const MaxRevPos = 1 << 62

func validPos(pos int64) bool { return -MaxRevPos <= pos && pos <= MaxRevPos }

// ParseRev reads `<integer>-<rest>` as couch_doc:parse_rev does: the integer as Erlang reads it (a
// sign, leading zeros), split at the first dash. The error is ErrInvalidRev. An integer beyond
// MaxRevPos is refused too, where CouchDB would take it.
func ParseRev(s string) (Rev, error) {
	digits, rest, found := strings.Cut(s, "-")
	if !found {
		return Rev{}, ErrInvalidRev
	}
	pos, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !validPos(pos) {
		return Rev{}, ErrInvalidRev
	}
	hash, ok := ParseRevHash(rest)
	if !ok {
		return Rev{}, ErrInvalidRev
	}
	return Rev{Pos: pos, Hash: hash}, nil
}

// ParseRevHash turns the text of a revision's hash into what Rev.Hash holds; ok is false for 32
// bytes that are not a hexadecimal integer (couch_doc:parse_revid).
func ParseRevHash(s string) (hash string, ok bool) {
	if len(s) != 32 {
		return s, true
	}
	var raw [16]byte
	if _, err := hex.Decode(raw[:], []byte(s)); err != nil {
		return "", false
	}
	return string(raw[:]), true
}

// Compare orders revisions by depth, then by the bytes of the hash.
func (r Rev) Compare(o Rev) int {
	if c := cmp.Compare(r.Pos, o.Pos); c != 0 {
		return c
	}
	return strings.Compare(r.Hash, o.Hash)
}

// ParseRevs reads a JSON array of revisions (couch_doc:parse_revs).
func ParseRevs(list ejson.Value) ([]Rev, error) {
	if list.Kind() != ejson.Array {
		return nil, NewError(KindBadRequest, "Invalid list of revisions")
	}
	revs := make([]Rev, 0, list.Len())
	for v := range list.Elements() {
		if v.Kind() != ejson.String {
			return nil, ErrInvalidRev
		}
		rev, err := ParseRev(v.Text())
		if err != nil {
			return nil, err
		}
		revs = append(revs, rev)
	}
	return revs, nil
}

// String is the wire form, `1-967a00dff5e02add41819138abb3284d`.
func (r Rev) String() string {
	var buf [64]byte
	return string(r.Append(buf[:0]))
}

// Append appends the wire form to dst.
func (r Rev) Append(dst []byte) []byte {
	dst = strconv.AppendInt(dst, r.Pos, 10)
	dst = append(dst, '-')
	return AppendRevHash(dst, r.Hash)
}

// AppendRevHash appends the text of a hash: hex for 16 bytes, else the bytes
// (couch_doc:revid_to_str).
func AppendRevHash(dst []byte, hash string) []byte {
	if len(hash) != 16 {
		return append(dst, hash...)
	}
	const digits = "0123456789abcdef"
	for i := 0; i < len(hash); i++ {
		dst = append(dst, digits[hash[i]>>4], digits[hash[i]&15])
	}
	return dst
}

// AppendJSON appends the wire form as a JSON string.
func (r Rev) AppendJSON(dst []byte) []byte {
	if len(r.Hash) == 16 {
		dst = append(dst, '"')
		dst = r.Append(dst)
		return append(dst, '"')
	}
	return ejson.AppendString(dst, r.String())
}
