package eval

// checkGuest reports a state of the kind guest on a target whose policy does not allow it. The policy can differ
// between targets that have the same states.
func checkGuest(ev *Evaluator, st *State) {
	if st.decl.Kind != "guest" || !st.Define.Stdlib {
		return
	}
	mark := ev.observed.mark()
	ev.observed.read(Reading{})
	ev.observed.made(Outcome{Unshared: true}, mark)
	if !ev.Catalog.Policy.CreateGuests {
		ev.Errorf(st.decl.Range, "Guests not allowed",
			"The target %q may not have guests that fettle makes or removes. To allow it, add policy { create_guests = true } "+
				"to the target.", ev.Catalog.Target)
	}
}
