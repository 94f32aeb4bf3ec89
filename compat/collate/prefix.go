package collate

import "bytes"

// AppendPrefixEnd appends a bound above the keys of all strings that begin with an ASCII text;
// other strings below the bound are those that the collation sorts before them, and those that
// differ from them in accents, case and ignored characters only. Other texts have no such bound:
// what follows may change the weights of their last character.
func AppendPrefixEnd(dst []byte, text string) []byte {
	start := len(dst)
	dst = AppendStringKey(append(dst, rankString), []byte(text))
	if end := bytes.IndexByte(dst[start:], levelSeparator); end > 0 {
		dst = dst[:start+end]
	}
	dst[len(dst)-1]++ // an ASCII character's primary weight does not end in 0xff
	return dst
}

// GroupLength is the number of bytes of a key that all keys of its group share, and no others begin
// with: for an array that is not empty those of at most its first n elements, else the whole key
// (couch_btree:make_group_fun). -1 if b begins with no key.
func GroupLength(b []byte, raw bool, n int) int { return keyLength(b, raw, n) }

// keyLength counts up to the end of the first value, or up to that of the element number elements
// of an array, if it is not -1.
func keyLength(b []byte, raw bool, elements int) int {
	array, object := rankArray, rankObject
	if raw {
		array, object = rawArray, rawObject
	}
	depth, i := 0, 0
	for i < len(b) {
		switch head := b[i]; {
		case head == keyEnd && depth > 0:
			i++
			depth--
		case head == array || head == object:
			i++
			depth++
			if depth == 1 && head == object {
				elements = -1
			}
			continue // no value ends here
		default:
			size := scalarLength(b[i:], raw)
			if size < 0 {
				return -1
			}
			i += size
		}
		if depth == 0 {
			return i
		}
		if depth == 1 && elements > 0 {
			if elements--; elements == 0 {
				return i
			}
		}
	}
	return -1
}

// scalarLength is the length of a scalar's key, -1 if b begins with none.
func scalarLength(b []byte, raw bool) int {
	text := rankString
	if raw {
		text = rawString
	}
	switch head := b[0]; {
	case head == rankNegative || head == rankPositive:
		return numberLength(b)
	case head == text:
		if end := bytes.IndexByte(b, keyEnd); end > 0 {
			return end + 1
		}
		return -1
	case head == rankZero || !raw && head >= rankNull && head <= rankTrue || raw && head >= rawFalse && head <= rawTrue:
		return 1
	}
	return -1
}

// numberLength is the length of the key of a number other than 0.
func numberLength(b []byte) int {
	invert := byte(0)
	if b[0] == rankNegative {
		invert = 0xff
	}
	if len(b) < 2 {
		return -1
	}
	i := 2
	if exponent := b[1] ^ invert; exponent == exponentBelow || exponent == exponentAbove {
		i += 4
	}
	for ; i < len(b); i++ {
		if (b[i]^invert)&1 == 0 {
			return i + 1
		}
	}
	return -1
}
