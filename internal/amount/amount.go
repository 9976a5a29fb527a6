// Package amount reads and writes numbers of targets as users write them, on the command line and in
// the language: a whole number, or a percentage of all targets.
//
//	a, err := amount.Parse("10%")
//	a.Batch(50) // 5 targets
package amount

import (
	"fmt"
	"strconv"
	"strings"
)

// maxNumber is the largest number that Parse accepts.
const maxNumber = 999_999_999

// Amount is a number of targets, or a percentage of all targets. Results of a percentage are rounded
// down.
type Amount struct {
	Number  int
	Percent bool // Number is a percentage, from 0 to 100
}

// Parse reads a number such as 3, or a percentage from 0% to 100%. An error quotes the text and shows
// users how to write it.
func Parse(text string) (Amount, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.ParseUint(digits, 10, 31)
	switch {
	case err != nil || n > maxNumber:
		return Amount{}, fmt.Errorf(
			"%.40q is not a number of targets: write a number such as 3, or a percentage such as 25%%", text)
	case percent && n > 100:
		return Amount{}, fmt.Errorf("%q is more than 100%%", text)
	}
	return Amount{Number: int(n), Percent: percent}, nil
}

// String returns the text that Parse reads.
func (a Amount) String() string {
	if a.Percent {
		return strconv.Itoa(a.Number) + "%"
	}
	return strconv.Itoa(a.Number)
}

// MarshalText returns the text of String.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the text of String.
func (a *Amount) UnmarshalText(text []byte) (err error) {
	*a, err = Parse(string(text))
	return err
}

// Batch returns how many of all targets form a batch: at least one if a is positive, otherwise all.
func (a Amount) Batch(all int) int {
	switch {
	case a.Number <= 0:
		return all
	case a.Percent:
		return max(1, a.Number*all/100)
	}
	return min(a.Number, all)
}

// Of returns the number of targets, if there are all targets.
func (a Amount) Of(all int) int {
	if a.Percent {
		return max(0, a.Number*all/100)
	}
	return max(0, a.Number)
}
