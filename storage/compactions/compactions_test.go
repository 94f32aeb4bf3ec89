package compactions

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRunningCompactionsAreListed(t *testing.T) {
	var l List
	later, run := l.Begin("x"), l.Begin("db")
	run.Expect(10)
	run.Advance(4)
	list := l.All()
	require.Len(t, list, 2)
	require.Equal(t, "db", list[0].Database)
	require.Equal(t, []int64{4, 10}, []int64{list[0].Done, list[0].Total})
	require.False(t, list[0].Updated.Before(list[0].Began.Truncate(1e9)))
	require.True(t, l.Has("db"))
	l.End(run)
	l.End(later)
	require.False(t, l.Has("db"))
	require.EqualValues(t, 2, l.Finished())
	require.EqualValues(t, 4, l.Removed())
}
