// SPDX-License-Identifier: GPL-2.0-or-later
// What keys do. Pure: the state of the screen in, its next state and what is left to the caller out.
#pragma once

#include "user/live/host_names.h"
#include "user/live/layout.h"
#include "user/live/live_model.h"
#include "user/live/ui_state.h"

#include <cstdint>

namespace bondtrace {

enum class Action : std::uint8_t {
    none,
    quit,
    write_snapshot,
    interval_changed,
    names_changed, // wanted, or no more
    step_forward,  // replay
    step_back,
};

class Controller {
  public:
    // `replay`: the keys that step are wanted.
    Controller(UiState ui, bool replay) : ui_(std::move(ui)), replay_(replay) {}

    [[nodiscard]] const UiState& ui() const { return ui_; }
    [[nodiscard]] const FlowView& view() const { return view_; }

    // After every update of the model, and after a change of size: chooses the conversations anew and keeps
    // the selected one on the screen.
    void refresh(const LiveModel& model, std::size_t height);
    // `width` and `height` of the screen are for clicks and pages.
    Action press(const Key& key, const LiveModel& model, std::size_t width, std::size_t height);

    void say(std::string message, bool bad = false);
    void pause(bool paused) { ui_.paused = paused; }
    // Where names come from when they are wanted; they may be shown without (as addresses).
    void use_names(const HostNames* names) { names_ = names; }
    void want_names(bool wanted);

  private:
    Action press_in_table(const Key& key, const LiveModel& model, std::size_t width, std::size_t height);
    Action press_letter(char32_t letter, const LiveModel& model);
    void press_in_help(const Key& key);
    void press_in_menu(const Key& key);
    void press_in_filter(const Key& key, const LiveModel& model);
    void accept_filter(const LiveModel& model);
    void click(const Key& key, const LiveModel& model, std::size_t width, std::size_t height);
    void move_selection(const LiveModel& model, std::ptrdiff_t by);
    void next_sort(std::ptrdiff_t by);
    void next_bond(const LiveModel& model);
    void change_interval(bool longer);
    void keep_in_view(std::size_t lines);

    UiState ui_;
    FlowView view_;
    const HostNames* names_ = nullptr;
    bool replay_;
};

} // namespace bondtrace
