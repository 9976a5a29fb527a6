package leader

import (
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// tellAll passes the whole present state as events.
func (c Config) tellAll(tell func(assign.Event)) {
	c.Records.Targets.Each(func(key string, t fleet.Target, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.TargetEvent, Key: key, Target: &t})
	})
	c.Records.Assignments.Each(func(key string, g records.Assignment, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.AssignmentEvent, Key: key, Assignment: &g.Assignment})
	})
	c.Records.Freezes.Each(func(key string, f assign.Freeze, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.FreezeEvent, Key: key, Freeze: &f})
	})
	c.Records.Limits.Each(func(key string, l []fleet.Limits, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.LimitsEvent, Key: key, Limits: &l})
	})
	c.Records.Exemptions.Each(func(key string, e assign.Exemption, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.ExemptionEvent, Key: key, Exemption: &e})
	})
	c.Records.Environments.Each(func(key string, e assign.Environment, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.EnvironmentEvent, Key: key, Environment: &e})
	})
	c.Records.Replacements.Each(func(key string, r assign.Replacement, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.ReplacementEvent, Key: key, Replacement: &r})
	})
	c.Records.Binaries.Each(func(key string, p assign.BinarySetting, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.BinaryEvent, Key: key, Binary: &p})
	})
	c.Records.Approvals.Each(func(key string, a assign.Approval, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.ApprovalEvent, Key: key, Approval: &a})
	})
	c.Records.Refs.Each(func(_ string, r records.Ref, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.RefEvent, Key: r.Name, Ref: r.Result()})
	})
	c.Records.Exports.Each(func(key string, e records.Exports, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.ExportsEvent, Key: key, Exports: &e.Values})
	})
	c.Records.MinimumGenerations.Each(func(key string, f fleet.Have, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.MinimumGenerationEvent, Key: key, MinimumGeneration: &f})
	})
}
