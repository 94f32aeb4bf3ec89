package kv

// AppendKeyAfter appends the first key behind key, key+\x00, to dst.
func AppendKeyAfter(dst, key []byte) []byte {
	return append(append(dst, key...), 0)
}

// PrefixEnd returns the first key behind all keys that begin with prefix; nil when there is none, because prefix holds
// nothing but \xff.
func PrefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := append([]byte(nil), prefix[:i+1]...)
			end[i]++
			return end
		}
	}
	return nil
}
