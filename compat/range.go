package compat

import (
	"strconv"
	"strings"
)

// maxRanges is how many ranges a request may have beyond it the whole attachment is sent instead.
const maxRanges = 9

// ByteRange is a part of an attachment, both ends included.
type ByteRange struct {
	From, To int64
}

// Len is the number of bytes in r.
func (r ByteRange) Len() int64 { return r.To - r.From + 1 }

// AppendContentRange appends the value of the Content-Range header, `bytes 0-4/26`.
func (r ByteRange) AppendContentRange(dst []byte, size int64) []byte {
	dst = append(dst, "bytes "...)
	dst = strconv.AppendInt(dst, r.From, 10)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, r.To, 10)
	dst = append(dst, '/')
	return strconv.AppendInt(dst, size, 10)
}

// ParseRange reads a Range header ("" when absent) for an attachment of size bytes. whole means
// that the header does not count: the attachment is sent in full with 200. Otherwise one range is a
// 206 with Content-Range, any other number, also none, a multipart/byteranges. The error is
// ErrRange. CouchDB looks at the ranges of compressed attachments too, and then sends them in full
// (mochiweb_http:parse_range_request, chttpd_db:parse_ranges).
//
// Oddities kept: one part `0-`, however many others there are, means the whole; a suffix not
// shorter than the attachment means all but the first byte; `3--5` is `3-5`.
func ParseRange(header string, size int64) (ranges []ByteRange, whole bool, err error) {
	list, ok := strings.CutPrefix(header, "bytes=")
	if !ok {
		return nil, true, nil
	}
	var specs []rangeSpec
	for part := range strings.SplitSeq(list, ",") {
		part = strings.Trim(part, " ")
		if part == "" {
			continue
		}
		spec, ok := parseRangeSpec(part)
		if !ok {
			return nil, true, nil
		}
		specs = append(specs, spec)
	}
	for _, spec := range specs {
		r, all, err := spec.resolve(size)
		if err != nil || all {
			return nil, all, err
		}
		ranges = append(ranges, r)
	}
	if len(ranges) > maxRanges {
		return nil, true, nil
	}
	return ranges, false, nil
}

// rangeSpec is one part of a Range header as it was written.
type rangeSpec struct {
	from, to       int64
	hasFrom, hasTo bool
}

// parseRangeSpec reads one range of a Range header: `from-`, `from-to` or `-suffix`. As in
// CouchDB's parser hyphens are separators, so several in a row count as one, and numbers follow
// Erlang's rules.
func parseRangeSpec(part string) (spec rangeSpec, ok bool) {
	if suffix, found := strings.CutPrefix(part, "-"); found {
		spec.to, ok = ErlangInteger(suffix)
		spec.hasTo = true
		return spec, ok
	}
	ends := strings.FieldsFunc(part, func(r rune) bool { return r == '-' })
	if len(ends) == 0 || len(ends) > 2 {
		return spec, false
	}
	spec.from, ok = ErlangInteger(ends[0])
	spec.hasFrom = true
	if ok && len(ends) == 2 {
		spec.to, ok = ErlangInteger(ends[1])
		spec.hasTo = true
	}
	return spec, ok
}

// resolve applies the clauses of parse_ranges/3 in their order.
func (s rangeSpec) resolve(size int64) (r ByteRange, whole bool, err error) {
	if s.hasFrom && s.from == 0 && !s.hasTo {
		return r, true, nil
	}
	if s.hasFrom && s.hasTo && s.to < s.from {
		return r, false, ErrRange
	}
	if s.hasTo && s.to >= size {
		s.to = size - 1
	}
	switch {
	case !s.hasFrom && s.to < 0:
		return r, false, ErrRange
	case !s.hasFrom:
		s.from, s.to = size-s.to, size-1
	case !s.hasTo:
		s.to = size - 1
	}
	if s.to < s.from {
		return r, false, ErrRange
	}
	return ByteRange{From: s.from, To: s.to}, false, nil
}
