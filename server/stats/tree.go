package stats

import (
	"slices"
	"strconv"

	"github.com/settee-db/settee/compat/ejson"
)

// appendGroup appends statistics, sorted by path, as nested objects below the given depth.
func appendGroup(b []byte, group []*stat, depth int) []byte {
	b = append(b, '{')
	for i := 0; i < len(group); {
		if i > 0 {
			b = append(b, ',')
		}
		name, end := group[i].path[depth], i+1
		for end < len(group) && group[end].path[depth] == name {
			end++
		}
		b = append(ejson.AppendString(b, name), ':')
		if len(group[i].path) == depth+1 {
			b = group[i].appendLeaf(b)
		} else {
			b = appendGroup(b, group[i:end], depth+1)
		}
		i = end
	}
	return append(b, '}')
}

// appendMember appends the whole statistic, or the member of it that rest names.
func (st *stat) appendMember(b []byte, rest []string) ([]byte, bool) {
	if len(rest) == 0 {
		return st.appendLeaf(b), true
	}
	if len(rest) == 1 {
		switch rest[0] {
		case "value":
			return st.appendValue(b), true
		case "type":
			return ejson.AppendString(b, st.kind), true
		case "desc":
			return ejson.AppendString(b, st.desc), true
		}
	}
	return b, false
}

// appendLeaf prints a statistic as CouchDB's tree has it.
func (st *stat) appendLeaf(b []byte) []byte {
	b = st.appendValue(append(b, `{"value":`...))
	b = ejson.AppendString(append(b, `,"type":`...), st.kind)
	b = ejson.AppendString(append(b, `,"desc":`...), st.desc)
	return append(b, '}')
}

// appendValue writes a number, or for a histogram the object that CouchDB's folsom made of the
// samples of the last seconds (couch_stats_httpd).
func (st *stat) appendValue(b []byte) []byte {
	if st.samples == nil {
		return strconv.AppendInt(b, st.n.Value(), 10)
	}
	recent := st.samples.recent()
	m := recent.summarise()
	b = strconv.AppendInt(append(b, `{"n":`...), int64(m.n), 10)
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"min", m.min}, {"max", m.max},
		{"arithmetic_mean", m.mean}, {"geometric_mean", m.geometric}, {"harmonic_mean", m.harmonic},
		{"median", m.percentiles[0]}, {"variance", m.variance}, {"standard_deviation", m.deviation},
		{"skewness", m.skewness}, {"kurtosis", m.kurtosis},
	} {
		b = append(append(append(b, ',', '"'), f.name...), '"', ':')
		b = appendNumber(b, f.value)
	}
	b = append(b, `,"percentile":[`...)
	for i, p := range percentiles {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, '['), int64(p.label), 10)
		b = append(appendNumber(append(b, ','), m.percentiles[i]), ']')
	}
	return append(b, `],"histogram":[[0,0]]}`...) // CouchDB 3.5 no longer fills it
}

// appendNumber appends a double as JSON; where there is nothing to measure CouchDB has the integer
// 0.
func appendNumber(b []byte, f float64) []byte {
	if f == 0 {
		return append(b, '0')
	}
	return ejson.AppendFloat(b, f)
}

// AppendTree appends what is below path; ok is false when there is nothing.
func (s *Stats) AppendTree(b []byte, path []string) (out []byte, ok bool) {
	var group []*stat
	for _, st := range s.all {
		n := min(len(path), len(st.path))
		if !slices.Equal(st.path[:n], path[:n]) {
			continue
		}
		if len(path) >= len(st.path) {
			return st.appendMember(b, path[len(st.path):])
		}
		group = append(group, st)
	}
	if len(group) == 0 {
		return b, false
	}
	return appendGroup(b, group, len(path)), true
}
