test "only admins become root" {
  vars = {
    users  = { kim = { name = "Kim", keys = [] }, lee = { name = "Lee", keys = [] } }
    admins = ["kim"]
  }
  expect {
    states = ["user.account[\"kim\"]", "user.account[\"lee\"]", "sudoers.admins/file.rules"]
  }
}

test "an unknown admin is an error" {
  vars = { users = {}, admins = ["max"] }
  expect {
    error = "Every admin must be one of the users"
  }
}
