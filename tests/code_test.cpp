// SPDX-License-Identifier: Apache-2.0
#include "tests/code.hpp"

#include <doctest/doctest.h>

namespace anchorhold::layering_test {

TEST_CASE("the reader of code sees identifiers, not comments and literals")
{
    CHECK(identifiers("int a = f(\"exit \\\" b\", 'c'); // exit\n10'000 R\"x(exit\")x\" g") ==
          std::set<std::string>{"int", "a", "f", "10'000", "g"});
}

TEST_CASE("the reader of literals sees what is said, however it is cut up, and no comment")
{
    CHECK(literals("f(\"No \" // such\n  \"such\", 10'000); // file") == "\n\nno such\n\n\n\n");
}

} // namespace anchorhold::layering_test
