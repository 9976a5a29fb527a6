test "teams choose people" {
  vars = {
    teams  = ["ops"]
    former = ["kurt"]
    people = {
      alice = { full_name = "Alice Adler", uid = 2001, teams = ["ops"], keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJ+ alice"] }
      emma  = { full_name = "Emma Ek", uid = 2005, teams = ["dev"], keys = [] }
    }
  }
  expect {
    states    = ["person.here[\"alice\"]/user.account"]
    no_states = ["person.here[\"emma\"]/user.account"]
    steps     = ["USER kurt ensure=absent", "USER alice*uid=2001*"]
    order     = ["GROUP team-ops", "USER alice*", "EDIT /home/alice/.ssh/authorized_keys*"]
  }
}

test "a number that is none of ours" {
  vars = { people = { eve = { full_name = "Eve", uid = 12, teams = ["ops"], keys = [] } } }
  expect { error = "People have numbers from 2000 to 2999" }
}
