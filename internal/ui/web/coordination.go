package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// coordinationTab is the page to which the link of the navigation leads.
const coordinationTab = "/locks"

// maxShownMembers is the number of members of a barrier on a page.
const maxShownMembers = 200

// lockData is a lock for display.
type lockData struct {
	document.Lock
	Note string // why it grants no slots, or its settings
}

// lockNote returns the reason for which a lock grants no slots, or otherwise its settings.
func lockNote(l document.Lock) string {
	switch {
	case l.Undeclared:
		return "The repository no longer declares this lock, so it grants no slots."
	case l.Opens > 0:
		return "The fleet was restored from a backup, so the lock grants no slots until " + at(l.Opens) + "."
	case l.Taken > l.Slots:
		return "The repository reduced the number, so the lock grants no slots until fewer are taken."
	}
	after := "stays taken"
	if l.OnExpiry == "free" {
		after = "is free"
	}
	text := "Lease " + duration.Text(time.Duration(l.Lease)) + "; after its end, the slot " + after
	if l.Reboots {
		text += "; needed for reboots"
	}
	return text + "."
}

// locksPage shows all locks with their holders.
func locksPage(v *visit) (*page, error) {
	all, err := get(v, route.Locks(), route.None{})
	if err != nil {
		return nil, err
	}
	var d []lockData
	for _, l := range all.Locks {
		d = append(d, lockData{l, lockNote(l)})
	}
	return &page{Title: "Locks", Tab: coordinationTab, Template: "locks", Data: d, Command: "fettle lock list",
		Address: address(route.Locks(), route.None{})}, nil
}

// slotData is the slot of one target.
type slotData struct {
	Lock   string
	Owner  string
	Holder document.LockHolder
}

// slotOf reads the slot of a target.
func slotOf(v *visit, lock, owner string) (slotData, error) {
	all, err := get(v, route.Locks(), route.None{})
	if err != nil {
		return slotData{}, err
	}
	for _, l := range all.Locks {
		for _, h := range l.Holders {
			if l.Name == lock && cmp.Or(h.Name, string(h.Target)) == owner {
				return slotData{lock, owner, h}, nil
			}
		}
	}
	return slotData{}, &document.Problem{Title: "The target has no slot", Status: http.StatusNotFound,
		Detail: fmt.Sprintf("cannot find a slot of %.200q in the lock %.200q: it was released", owner, lock),
		Hint:   "List the holders: fettle lock list"}
}

// releasePage asks for the reason and a confirmation before the slot of a target is released.
func releasePage(v *visit) (*page, error) {
	d, err := slotOf(v, v.PathValue("lock"), v.URL.Query().Get("target"))
	if err != nil {
		return nil, err
	}
	return &page{Title: "Release the slot of " + d.Owner, Tab: coordinationTab, Template: "release", Data: d,
		Command: commandOf("fettle", "lock", "release", d.Lock, d.Owner, "--reason", "WHY"),
		Address: address(route.Locks(), route.None{})}, nil
}

// releaseSlot releases the slot that the user has seen, and no later one of the same target.
func releaseSlot(v *visit) (string, string, error) {
	lock, owner := v.PathValue("lock"), v.PostForm.Get("owner")
	if v.PostForm.Get("finished") == "" {
		return "", "", &document.Problem{Title: "The release is not confirmed", Status: http.StatusBadRequest,
			Detail: "cannot release the slot: confirm that the target has finished its work, or stays off",
			Hint:   "Select the box in front of the confirmation"}
	}
	d, err := slotOf(v, lock, owner)
	if err != nil {
		return "", "", err
	}
	if strconv.FormatUint(d.Holder.Token, 10) != v.PostForm.Get("token") {
		return "", "", &document.Problem{Title: "The target has another slot now", Status: http.StatusConflict,
			Detail: fmt.Sprintf("cannot release the slot: %s has released it, and has acquired a slot again", owner),
			Hint:   "See its present slot: fettle lock list"}
	}
	done, err := client.Call(v.Context(), v.client, route.ReleaseLock(), route.LockName{Lock: lock},
		document.LockReleaseRequest{Owner: owner, Reason: v.PostForm.Get("reason")})
	return done.Text, coordinationTab, err
}

// barrierData is a barrier for display.
type barrierData struct {
	document.Barrier
	Note string
	More int // number of further members
}

// barriersPage shows all barriers with their members, first the expected ones.
func barriersPage(v *visit) (*page, error) {
	all, err := get(v, route.Barriers(), route.None{})
	if err != nil {
		return nil, err
	}
	var d []barrierData
	for _, b := range all.Barriers {
		slices.SortStableFunc(b.Members, func(x, y document.BarrierMember) int { return cmp.Compare(rank(x), rank(y)) })
		more := max(0, len(b.Members)-maxShownMembers)
		b.Members = b.Members[:len(b.Members)-more]
		d = append(d, barrierData{b, barrierNote(b), more})
	}
	return &page{Title: "Barriers", Tab: coordinationTab, Template: "barriers", Data: d, Command: "fettle barrier list",
		Address: address(route.Barriers(), route.None{})}, nil
}

// rank orders members: expected ones first, and members that do not count last.
func rank(m document.BarrierMember) int {
	switch m.State {
	case document.MemberExpected:
		return 0
	case document.MemberArrived:
		return 1
	}
	return 2
}

// barrierNote describes a barrier, or the reason for which it cannot open.
func barrierNote(b document.Barrier) string {
	switch {
	case b.Undeclared:
		return "The repository no longer declares this barrier, so arrivals are refused."
	case len(b.Members) == 0:
		return "It selects no targets, so it does not open."
	}
	text := fmt.Sprintf("Quorum %s of %d.", b.Quorum, b.Counted)
	if b.OfflineAfter > 0 {
		text += " Offline members do not count after " + duration.Text(time.Duration(b.OfflineAfter)) + "."
	}
	return text
}

// signalsPage shows all signals.
func signalsPage(v *visit) (*page, error) {
	all, err := get(v, route.Signals(), route.None{})
	if err != nil {
		return nil, err
	}
	return &page{Title: "Signals", Tab: coordinationTab, Template: "signals", Data: all.Signals,
		Command: "fettle signal list", Address: address(route.Signals(), route.None{})}, nil
}

// signalPage shows one signal, with the forms that send and clear it.
func signalPage(v *visit) (*page, error) {
	all, err := get(v, route.Signals(), route.None{})
	if err != nil {
		return nil, err
	}
	name := v.PathValue("signal")
	i := slices.IndexFunc(all.Signals, func(s document.Signal) bool { return s.Name == name })
	if i < 0 {
		return nil, &document.Problem{Title: "There is no such signal", Status: http.StatusNotFound,
			Detail: fmt.Sprintf("cannot find the signal %.200q", name), Hint: "List the signals: fettle signal list"}
	}
	return &page{Title: "Signal " + name, Tab: coordinationTab, Template: "signal", Data: all.Signals[i],
		Command: "fettle signal list", Address: address(route.Signals(), route.None{})}, nil
}

func sendSignal(v *visit) (string, string, error) {
	return changeSignal(v, route.SendSignal(), document.SignalRequest{Payload: v.PostForm.Get("payload")})
}

func clearSignal(v *visit) (string, string, error) {
	return changeSignal(v, route.ClearSignal(), document.ReasonRequest{Reason: v.PostForm.Get("reason")})
}

func changeSignal[In any](v *visit, r route.Route[route.SignalName, In, document.Done], in In) (string, string, error) {
	at := route.SignalName{Signal: v.PathValue("signal")}
	done, err := client.Call(v.Context(), v.client, r, at, in)
	return done.Text, "/signals", err
}
