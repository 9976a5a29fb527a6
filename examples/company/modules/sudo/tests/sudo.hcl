test "rules are checked before they are in place" {
  expect { steps = ["COPY * /etc/sudoers.d/ops*mode=0440*visudo*", "COPY * /etc/sudoers.d/dba*"] }
}
