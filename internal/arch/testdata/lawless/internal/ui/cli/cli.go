// Package cli has a long function.
package cli

// Long has 62 lines.
func Long() {
	_ = 0
	_ = 1
	_ = 2
	_ = 3
	_ = 4
	_ = 5
	_ = 6
	_ = 7
	_ = 8
	_ = 9
	_ = 10
	_ = 11
	_ = 12
	_ = 13
	_ = 14
	_ = 15
	_ = 16
	_ = 17
	_ = 18
	_ = 19
	_ = 20
	_ = 21
	_ = 22
	_ = 23
	_ = 24
	_ = 25
	_ = 26
	_ = 27
	_ = 28
	_ = 29
	_ = 30
	_ = 31
	_ = 32
	_ = 33
	_ = 34
	_ = 35
	_ = 36
	_ = 37
	_ = 38
	_ = 39
	_ = 40
	_ = 41
	_ = 42
	_ = 43
	_ = 44
	_ = 45
	_ = 46
	_ = 47
	_ = 48
	_ = 49
	_ = 50
	_ = 51
	_ = 52
	_ = 53
	_ = 54
	_ = 55
	_ = 56
	_ = 57
	_ = 58
	_ = 59
}

// Short is one of many in a long file.
func Short() {}

// F0 is short.
func F0() {}

// F1 is short.
func F1() {}

// F2 is short.
func F2() {}

// F3 is short.
func F3() {}

// F4 is short.
func F4() {}

// F5 is short.
func F5() {}

// F6 is short.
func F6() {}

// F7 is short.
func F7() {}

// F8 is short.
func F8() {}

// F9 is short.
func F9() {}

// F10 is short.
func F10() {}

// F11 is short.
func F11() {}

// F12 is short.
func F12() {}

// F13 is short.
func F13() {}

// F14 is short.
func F14() {}

// F15 is short.
func F15() {}

// F16 is short.
func F16() {}

// F17 is short.
func F17() {}

// F18 is short.
func F18() {}

// F19 is short.
func F19() {}

// F20 is short.
func F20() {}

// F21 is short.
func F21() {}

// F22 is short.
func F22() {}

// F23 is short.
func F23() {}

// F24 is short.
func F24() {}

// F25 is short.
func F25() {}

// F26 is short.
func F26() {}

// F27 is short.
func F27() {}

// F28 is short.
func F28() {}

// F29 is short.
func F29() {}

// F30 is short.
func F30() {}

// F31 is short.
func F31() {}

// F32 is short.
func F32() {}

// F33 is short.
func F33() {}

// F34 is short.
func F34() {}

// F35 is short.
func F35() {}

// F36 is short.
func F36() {}

// F37 is short.
func F37() {}

// F38 is short.
func F38() {}

// F39 is short.
func F39() {}

// F40 is short.
func F40() {}

// F41 is short.
func F41() {}

// F42 is short.
func F42() {}

// F43 is short.
func F43() {}

// F44 is short.
func F44() {}

// F45 is short.
func F45() {}

// F46 is short.
func F46() {}

// F47 is short.
func F47() {}

// F48 is short.
func F48() {}

// F49 is short.
func F49() {}

// F50 is short.
func F50() {}

// F51 is short.
func F51() {}

// F52 is short.
func F52() {}

// F53 is short.
func F53() {}

// F54 is short.
func F54() {}

// F55 is short.
func F55() {}

// F56 is short.
func F56() {}

// F57 is short.
func F57() {}

// F58 is short.
func F58() {}

// F59 is short.
func F59() {}

// F60 is short.
func F60() {}

// F61 is short.
func F61() {}

// F62 is short.
func F62() {}

// F63 is short.
func F63() {}

// F64 is short.
func F64() {}

// F65 is short.
func F65() {}

// F66 is short.
func F66() {}

// F67 is short.
func F67() {}

// F68 is short.
func F68() {}

// F69 is short.
func F69() {}

// F70 is short.
func F70() {}

// F71 is short.
func F71() {}

// F72 is short.
func F72() {}

// F73 is short.
func F73() {}

// F74 is short.
func F74() {}

// F75 is short.
func F75() {}

// F76 is short.
func F76() {}

// F77 is short.
func F77() {}

// F78 is short.
func F78() {}

// F79 is short.
func F79() {}

// F80 is short.
func F80() {}

// F81 is short.
func F81() {}

// F82 is short.
func F82() {}

// F83 is short.
func F83() {}

// F84 is short.
func F84() {}

// F85 is short.
func F85() {}

// F86 is short.
func F86() {}

// F87 is short.
func F87() {}

// F88 is short.
func F88() {}

// F89 is short.
func F89() {}

// F90 is short.
func F90() {}

// F91 is short.
func F91() {}

// F92 is short.
func F92() {}

// F93 is short.
func F93() {}

// F94 is short.
func F94() {}

// F95 is short.
func F95() {}

// F96 is short.
func F96() {}

// F97 is short.
func F97() {}

// F98 is short.
func F98() {}

// F99 is short.
func F99() {}

// F100 is short.
func F100() {}

// F101 is short.
func F101() {}

// F102 is short.
func F102() {}

// F103 is short.
func F103() {}

// F104 is short.
func F104() {}

// F105 is short.
func F105() {}

// F106 is short.
func F106() {}

// F107 is short.
func F107() {}

// F108 is short.
func F108() {}

// F109 is short.
func F109() {}

// F110 is short.
func F110() {}

// F111 is short.
func F111() {}

// F112 is short.
func F112() {}

// F113 is short.
func F113() {}

// F114 is short.
func F114() {}

// F115 is short.
func F115() {}

// F116 is short.
func F116() {}

// F117 is short.
func F117() {}

// F118 is short.
func F118() {}

// F119 is short.
func F119() {}
