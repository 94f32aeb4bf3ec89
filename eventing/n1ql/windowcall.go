package n1ql

import (
	"slices"

	"github.com/settee-db/settee/eventing/n1ql/datum"
)

// windowCall is a function over a window at work.
type windowCall struct {
	*window
	rows     *windowed
	values   [][]datum.Value // of the arguments, for each row
	frame    *frame          // nil for the default one
	from, to boundEdge
}

// isPlace reports whether a value may be the number of a row.
func isPlace(v *datum.Value) bool {
	n, whole := v.Int()
	return whole && n > 0
}

func wrongPlace(name string) string {
	return "the second argument of " + name + " is an integer from 1 on"
}

// run gives the function its values for the rows of a partition.
func (c *windowCall) run(p *partition) error {
	value, err := c.valueIn(p)
	if err != nil {
		return err
	}
	for at, row := range p.rows {
		v, err := value(at)
		if err == nil {
			err = c.rows.keep(datum.ValueSize + v.Cost())
		}
		if err == nil {
			err = c.rows.env.step()
		}
		if err != nil {
			return err
		}
		c.rows.rows[row].windows[c.at] = v
	}
	return nil
}

// valueIn makes the function of a partition that gives the value at each place, which is asked for one
// place after the other.
func (c *windowCall) valueIn(p *partition) (func(at int) (datum.Value, error), error) {
	number := func(of func(at int) int) func(int) (datum.Value, error) {
		return func(at int) (datum.Value, error) { return datum.Integer(int64(of(at))), nil }
	}
	n := len(p.rows)
	share := func(of func(at int) int, all int) func(int) (datum.Value, error) {
		return func(at int) (datum.Value, error) {
			return datum.Float(float64(of(at)) / float64(max(all, 1))), nil
		}
	}
	before := func(at int) int { from, _ := p.peers(at); return from }
	switch c.name {
	case "ROW_NUMBER":
		return number(func(at int) int { return at + 1 }), nil
	case "RANK":
		return number(func(at int) int { return before(at) + 1 }), nil
	case "DENSE_RANK":
		return number(func(at int) int { return p.groups[at] + 1 }), nil
	case "PERCENT_RANK":
		return share(before, n-1), nil
	case "CUME_DIST":
		return share(func(at int) int { _, to := p.peers(at); return to }, n), nil
	case "NTILE":
		return c.tiles(p)
	case "LAG", "LEAD":
		return func(at int) (datum.Value, error) { return c.offset(p, at) }, nil
	case "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE":
		rows := c.byValue(p)
		return func(at int) (datum.Value, error) { return c.nth(p, rows, at) }, nil
	}
	f := &frameFold{call: c, in: p}
	if c.name != "RATIO_TO_REPORT" {
		f.of = &aggregate{name: c.name, distinct: c.distinct}
		return f.at, nil
	}
	f.of = &aggregate{name: "SUM"}
	return func(at int) (datum.Value, error) {
		all, err := f.at(at)
		v := c.values[0][p.rows[at]]
		if err != nil || v.Kind != datum.KindNumber || all.Kind != datum.KindNumber {
			return datum.Null, err
		}
		return datum.Calculate("/", &v.Num, &all.Num), nil
	}, nil
}

// tiles is NTILE: the rows in so many buckets, of which the first ones have a row more than the others
// where they cannot be alike.
func (c *windowCall) tiles(p *partition) (func(at int) (datum.Value, error), error) {
	buckets := c.values[0][p.rows[0]]
	if buckets.Kind != datum.KindNumber {
		return func(int) (datum.Value, error) { return datum.Null, nil }, nil
	}
	b, ok := buckets.Int()
	if !ok || b < 1 {
		return nil, invalidf("the argument of NTILE is an integer from 1 on")
	}
	n := int64(len(p.rows))
	size, larger := n/b, n%b
	return func(at int) (datum.Value, error) {
		i := int64(at)
		if i < larger*(size+1) {
			return datum.Integer(i/(size+1) + 1), nil
		}
		return datum.Integer((i-larger*(size+1))/size + larger + 1), nil
	}, nil
}

// number is the second argument at a row, the number of a row, 1 if there is none.
func (c *windowCall) number(row int) (int64, error) {
	if len(c.values) < 2 {
		return 1, nil
	}
	v := &c.values[1][row]
	if !isPlace(v) {
		return 0, invalidf("%s", wrongPlace(c.name))
	}
	n, _ := v.Int()
	return n, nil
}

// offset is LAG or LEAD: the value so many rows before or after the one at a place, of which those that
// are unknown may not count.
func (c *windowCall) offset(p *partition, at int) (datum.Value, error) {
	left, err := c.number(p.rows[at])
	step := 1
	if c.name == "LAG" {
		step = -1
	}
	if !c.ignoreNulls { // straight to it
		step *= int(min(left, int64(len(p.rows))))
		left = 1
	}
	for i := at + step; err == nil && i >= 0 && i < len(p.rows); i += step {
		v := c.values[0][p.rows[i]]
		if c.ignoreNulls && v.Unknown() {
			err = c.rows.env.step()
			continue
		}
		if left--; left == 0 {
			return v, nil
		}
	}
	if len(c.values) > 2 {
		return c.values[2][p.rows[at]], err
	}
	return datum.Null, err
}

// byValue is the order in which FIRST_VALUE and its like see the rows of a partition: that of the
// window, and among rows that ORDER BY does not tell apart that of their values, so that it is always the
// same. A frame of ROWS tells all rows apart.
func (c *windowCall) byValue(p *partition) []int {
	if len(p.by) == 0 || c.frame != nil && c.frame.unit == "ROWS" {
		return p.rows
	}
	rows, values := slices.Clone(p.rows), c.values[0]
	for i, from := range p.starts[:len(p.starts)-1] {
		slices.SortStableFunc(rows[from:p.starts[i+1]], func(a, b int) int {
			return datum.Compare(&values[a], &values[b])
		})
	}
	return rows
}

// nth is FIRST_VALUE, LAST_VALUE or NTH_VALUE at a place.
func (c *windowCall) nth(p *partition, rows []int, at int) (datum.Value, error) {
	left, err := c.number(p.rows[at])
	from, to := c.frameAt(p, at)
	backwards := c.fromLast || c.name == "LAST_VALUE"
	for i := from; err == nil && i < to; i++ {
		place := i
		if backwards {
			place = to - 1 - (i - from)
		}
		v := c.values[0][rows[place]]
		if c.excluded(p, at, place, rows[place]) || c.ignoreNulls && v.Unknown() {
			err = c.rows.env.step()
			continue
		}
		if left--; left == 0 {
			return v, nil
		}
	}
	return datum.Null, err
}

// frameFold computes an aggregate over the frames of a partition, one place after the other. What a
// frame has more than the one before is added; one that has not all of its rows begins anew.
type frameFold struct {
	call     *windowCall
	in       *partition
	of       *aggregate
	fold     *fold
	from, to int // the frame that fold has
	result   datum.Value
}

// at is the value at a place.
func (f *frameFold) at(at int) (datum.Value, error) {
	from, to := f.call.frameAt(f.in, at)
	to = max(from, to)
	grows := f.fold != nil && from == f.from && to >= f.to &&
		(f.call.frame == nil || f.call.frame.exclude == "")
	if grows && to == f.to {
		return f.result, nil
	}
	if !grows {
		if f.fold != nil {
			f.fold.free()
		}
		f.fold = newFold(f.of, f.call.rows.run.memory)
		f.to = from
	}
	for place := f.to; place < to; place++ {
		row := f.in.rows[place]
		if f.call.excluded(f.in, at, place, row) {
			continue
		}
		err := f.fold.add(&f.call.values[0][row])
		if err == nil {
			err = f.call.rows.env.step()
		}
		if err != nil {
			return datum.Null, err
		}
	}
	f.from, f.to, f.result = from, to, f.fold.Result()
	return f.result, nil
}
