package kv

// AppendKeyAfter appends the first key after key, key+\x00, to dst.
func AppendKeyAfter(dst, key []byte) []byte {
	return append(append(dst, key...), 0)
}

// AppendPrefixEnd appends the first key after all keys that begin with prefix to dst. There is none
// for a prefix of nothing but \xff: then it returns nil.
func AppendPrefixEnd(dst, prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			return append(append(dst, prefix[:i]...), prefix[i]+1)
		}
	}
	return nil
}
