package compat

import (
	"slices"
	"strconv"
	"testing"
)

// TestDictOrder compares with what Erlang/OTP 25 prints for dict:from_list over the texts of 1 to 200.
func TestDictOrder(t *testing.T) {
	want := []int{
		180, 166, 71, 57, 192, 178, 83, 69, 95, 121, 107, 12, 133, 119, 24, 145, 50, 36, 171, 157, 62, 48, 9, 183, 169,
		74, 195, 188, 100, 93, 86, 79, 112, 105, 98, 10, 131, 124, 117, 22, 15, 150, 143, 136, 129, 41, 34, 27, 2, 162,
		155, 148, 60, 53, 46, 39, 7, 181, 174, 167, 72, 65, 58, 193, 186, 179, 91, 84, 77, 198, 110, 103, 96, 89, 122,
		115, 108, 20, 13, 141, 134, 127, 32, 25, 18, 160, 153, 146, 139, 51, 44, 37, 5, 172, 165, 158, 70, 63, 56, 49,
		191, 184, 177, 82, 75, 68, 196, 189, 101, 94, 87, 120, 113, 106, 99, 11, 132, 125, 118, 30, 23, 16, 151, 144, 137,
		42, 35, 28, 3, 170, 163, 156, 149, 61, 54, 47, 8, 182, 175, 168, 80, 73, 66, 59, 194, 187, 92, 85, 78, 199,
		111, 104, 97, 200, 130, 123, 116, 109, 21, 14, 142, 135, 128, 40, 33, 26, 19, 1, 161, 154, 147, 52, 45, 38, 6,
		173, 159, 64, 185, 90, 76, 197, 102, 88, 114, 140, 126, 31, 17, 152, 138, 43, 29, 4, 164, 55, 190, 176, 81, 67,
	}
	ids := make([]string, 200)
	for i := range ids {
		ids[i] = strconv.Itoa(i + 1)
	}
	got := DictOrder(ids)
	for i := range got {
		got[i]++
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestDictOrderTakesAnIDOnce(t *testing.T) {
	if got := DictOrder([]string{"a", "b", "a"}); len(got) != 2 {
		t.Errorf("DictOrder = %v", got)
	}
}
