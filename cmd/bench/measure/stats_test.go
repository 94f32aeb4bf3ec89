package measure

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{7}, 7}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(tt.values); got != tt.want {
			t.Errorf("median(%v) = %v, want %v", tt.values, got, tt.want)
		}
	}
}

func TestRatioIsTakenPairByPair(t *testing.T) {
	got := ratioOf([]float64{10, 20, 90}, []float64{10, 5, 30}, false)
	if want := (Ratio{Median: 3, Min: 1, Max: 4}); got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	got = ratioOf([]float64{10, 20}, []float64{40, 20}, true)
	if want := (Ratio{Median: 2.5, Min: 1, Max: 4}); got == nil || *got != want {
		t.Errorf("less is better: got %+v, want %+v", got, want)
	}
	if got := ratioOf([]float64{1}, []float64{0}, false); got != nil {
		t.Errorf("against nothing: %+v", got)
	}
}

func TestNumbersAreCutNotRounded(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.000", 0.9999: "0.999", 1: "1.00", 7.999: "7.99", 10: "10.0", 99.99: "99.9", 100: "100", 1234.9: "1234",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestQuantilesAreCloseFromAbove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, math.MaxInt64/2), 1, 200).Draw(t, "values")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		h := &histogram{}
		for _, v := range values {
			h.add(time.Duration(v))
		}
		slices.Sort(values)
		rank := min(len(values), max(1, int(math.Ceil(q*float64(len(values))))))
		exact, got := values[rank-1], int64(h.quantile(q))
		if got < exact || float64(got) > float64(exact)*(1+1.0/subBuckets)+1 {
			t.Fatalf("quantile %v of %d values: %d instead of %d", q, len(values), got, exact)
		}
	})
}

func TestBucketsAreInOrder(t *testing.T) {
	for i := 1; i < 57*subBuckets; i++ {
		low, high := bucketTop(i-1)+1, bucketTop(i)
		if bucketOf(low) != i || bucketOf(high) != i {
			t.Fatalf(
				"bucket %d is said to hold %d to %d, which are in %d and %d",
				i,
				low,
				high,
				bucketOf(low),
				bucketOf(high),
			)
		}
	}
}
