package bus_test

const childEnv = "FETTLE_TEST_BUS_CHILD"

func runChild(string) int { return 0 }
