// SPDX-License-Identifier: GPL-2.0-or-later
// Fuzzes recordings: whatever a file holds, reading it ends, an error shows no control character, and what is
// accepted can be taken in, drawn on any screen without a raw character of it, and written again. Lines are
// separated by newlines, as in a file. Seeds: the sample line of tests/unit/live.
#include "user/live/controller.h"
#include "user/live/live_json.h"
#include "user/live/live_text.h"
#include "user/live/replay.h"
#include "user/live/screen.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace {

using namespace bondtrace;

void require(bool condition) {
    if (!condition) std::abort();
}

void draw(const LiveModel& model, const Controller& controller, std::size_t width, std::size_t height) {
    const Symbols symbols;
    Canvas canvas(width, height);
    draw_screen(canvas, {.model = model,
                         .view = controller.view(),
                         .ui = controller.ui(),
                         .symbols = symbols,
                         .replay = ReplayPlace{1, 2}});
    for (std::size_t y = 0; y < height; ++y)
        for (std::size_t x = 0; x < width; ++x) {
            const char32_t symbol = canvas.at(x, y).symbol;
            require(symbol == 0 || (symbol >= 0x20 && symbol != 0x7f && (symbol < 0x80 || symbol >= 0xa0)));
        }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    LiveModel model;
    Controller controller({}, true);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        auto reading = parse_live_json(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!reading) {
            const std::string& what = reading.error().what;
            require(!what.empty() && std::all_of(what.begin(), what.end(), [](char c) {
                return static_cast<unsigned char>(c) >= 0x20;
            }));
            continue;
        }
        model.update(std::move(*reading));
        controller.refresh(model, 24);
    }
    if (model.readings() == 0) return 0;
    for (const char32_t key : {U'j', U'\r', U'e', U's', U'd', U'u'}) {
        const Key pressed{.code = key == U'\r' ? Key::Code::enter : Key::Code::character, .symbol = key};
        controller.press(pressed, model, 80, 24);
        draw(model, controller, 200, 50);
        draw(model, controller, 60, 16);
    }
    const std::string line =
        live_json(model, controller.view(), 0, std::numeric_limits<std::size_t>::max(), 0);
    require(static_cast<bool>(parse_live_json(line)));
    require(!live_text(model, controller.view(), 10, 0, unicode_symbols()).empty());
    return 0;
}
