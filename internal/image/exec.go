package image

import "fettle.dev/fettle/internal/addr"

// Exec is whether a command has had its effect. Known is false if only the record of earlier runs has
// this information.
type Exec struct {
	Known bool `json:"known"`
	Done  bool `json:"done"`
	// NotWanted reports that the command counts as done only because its only_if does not hold.
	NotWanted bool `json:"not_wanted,omitempty"`
	// GuardsNotRun is the reason why its guards were not run, or "". The run then executes the guards
	// before the command.
	GuardsNotRun string `json:"unasked,omitempty"`
	// MissingProgram is the program of the command if it is missing on the host.
	MissingProgram string `json:"lacks,omitempty"`
	// Output is the output of the command for later steps. Same does not compare it.
	Output *string `json:"output,omitempty"`
}

// Exec returns the effect of a command, or nil if the image has another type.
func (i Image) Exec() *Exec { return as[Exec](i.Variant) }

func (*Exec) stored() string { return "exec" }

// kind is "" because an address whose state is unknown has this image too.
func (*Exec) kind() addr.Kind { return "" }

func (*Exec) fresh() Variant { return new(Exec) }

// Same implements Variant. It ignores the output and the reasons.
func (e Exec) Same(other Variant) bool {
	o := as[Exec](other)
	return o != nil && e.Known == o.Known && e.Done == o.Done
}

// Absent implements Variant: a command has no object that can be absent.
func (Exec) Absent() bool { return false }

// SealKey implements Variant.
func (Exec) SealKey() string { return "" }

// Summary implements Variant: nothing existed before a command.
func (Exec) Summary() string { return "" }

// Differences implements Variant: an operator sees the command itself.
func (Exec) Differences(Variant, Names) []Difference { return nil }
